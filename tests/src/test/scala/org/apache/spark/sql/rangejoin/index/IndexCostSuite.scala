// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.SparkConf
import org.apache.spark.serializer.JavaSerializer
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.KnownSizeEstimation

import org.scalatest.funsuite.AnyFunSuite

/** The memory an index takes, beside stock's hashed relation of the same rows. */
class IndexCostSuite extends AnyFunSuite {
  private val Rows = 200000

  /** Rows of a key, a begin, an end and, where wanted, a text. */
  private def rows(key: Int => Any, keyType: DataType, text: Boolean): Array[UnsafeRow] = {
    val types =
      Array[DataType](keyType, LongType, LongType) ++ (if (text) Seq(StringType) else Nil)
    val project = UnsafeProjection.create(types)
    val random = new scala.util.Random(1)
    Array.tabulate(Rows) { i =>
      val begin = random.nextInt(1000000).toLong
      val values = Seq[Any](key(i), begin, begin + random.nextInt(1000)) ++
        (if (text) Seq(UTF8String.fromString("x" * random.nextInt(40))) else Nil)
      project(InternalRow.fromSeq(values)).copy()
    }
  }

  private def bound(i: Int) = BoundReference(i, LongType, nullable = false)

  /** Bytes as an executor has them. */
  private def sizeOf(built: Any): Long = {
    val serializer = new JavaSerializer(new SparkConf(false)).newInstance()
    // What stock builds has room to grow, which does not travel.
    val received = serializer.deserialize[Any](serializer.serialize[Any](built))
    received.asInstanceOf[KnownSizeEstimation].estimatedSize
  }

  for {
    (name, keyType, key) <- Seq[(String, DataType, Int => Any)](
      ("one row of a long key", LongType, i => i * 7919L),
      ("one row of a dense key", LongType, i => i.toLong),
      ("four rows of a key", LongType, i => (i / 4) * 7919L),
      ("ten rows of a key", LongType, i => (i % 20000) * 7919L),
      ("a thousand rows of a key", LongType, i => (i % 200).toLong),
      ("ten rows of a text", StringType, i => UTF8String.fromString(s"key ${i % 20000}"))
    )
    text <- Seq(false, true)
  } test(s"$name, ${if (text) "rows of many sizes" else "rows of one size"}") {
    val input = rows(key, keyType, text)
    val keys = Seq(BoundReference(0, keyType, nullable = false))
    val stockSize =
      sizeOf(HashedRelationBroadcastMode(keys).transform(input.iterator, Some(Rows.toLong)))
    for ((shape, evict) <- Seq("points" -> bound(1), "intervals" -> bound(2))) {
      val mode = RangeIndexMode(keys, Some(bound(1)), Some(evict), None, None, 4)()
      val size = sizeOf(mode.transform(input.iterator, Some(Rows.toLong)))
      info(f"$shape%-9s size ${size / 1e6}%.1f MB to ${stockSize / 1e6}%.1f MB, " +
        f"${size.toDouble / stockSize}%.2fx")
      assert(size <= stockSize * 1.3)
    }
  }
}
