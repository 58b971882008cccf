// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** From keys to groups, beside a map. */
class KeyDirectorySuite extends AnyFunSuite {

  private val ends = Seq(Long.MinValue, Long.MinValue + 1, -1L, 0L, 1L, Long.MaxValue)

  private def projection(dataType: DataType): Any => UnsafeRow = {
    val project = UnsafeProjection.create(Array(dataType))
    value => project(InternalRow(value))
  }

  /** Adds keys, each several times, and looks for all of them and for others. */
  private def check(
      builder: KeyDirectory.Builder,
      row: Any => UnsafeRow,
      keys: Seq[Any],
      others: Seq[Any]): KeyDirectory = {
    val groups = keys.distinct.zipWithIndex.toMap
    for (key <- keys) {
      val (allocated, more) = (builder.allocatedBytes, builder.bytesToAdd(row(key)))
      assert(builder.add(row(key)) == groups(key), key)
      val grown = builder.allocatedBytes - allocated
      assert(grown <= more, "more memory than was asked for")
      // A new table, beside the old one.
      if (grown > 0 && builder.isInstanceOf[LongKeys.Builder])
        assert(more == builder.allocatedBytes)
    }
    assert(builder.groups == groups.size)
    val most = builder.allocatedBytes + builder.bytesToFinish
    val directory = builder.result()
    assert(directory.estimatedSize <= most)
    val scratch = new UnsafeRow(1)
    for (key <- keys) assert(directory.find(row(key), scratch) == groups(key), key)
    for (key <- others) assert(directory.find(row(key), scratch) == -1, key)
    assert(directory.keys.size == groups.size)
    directory
  }

  test("any longs, few and many") {
    val random = new Random(7)
    for (count <- Seq(1, 10, 11, 1000, 20000)) {
      val keys = ends ++ Seq.fill(count)(random.nextLong())
      val directory = check(
        new LongKeys.Builder(Seq(LongType)),
        projection(LongType),
        random.shuffle(keys ++ keys.take(count / 2)),
        Seq.fill(100)(random.nextLong()).filterNot(keys.toSet) ++ Seq(2L, -2L)
      )
      assert(directory.isInstanceOf[LongKeys])
      assert(directory.keys.map(_.getLong(0)).toSet == keys.toSet)
      for (key <- keys) assert(directory.find(key) >= 0)
    }
  }

  test("longs that are close to each other, anywhere") {
    val random = new Random(8)
    for (least <- Seq(Long.MinValue, -500L, 0L, Long.MaxValue - 3000L); step <- Seq(1, 2)) {
      val keys = random.shuffle(Seq.tabulate(1000)(i => least + i * step))
      val directory = check(
        new LongKeys.Builder(Seq(LongType)),
        projection(LongType),
        keys,
        (ends ++ Seq(least - 1, keys.max + 1)).filterNot(keys.toSet))
      assert(directory.isInstanceOf[DenseKeys])
      assert(directory.keys.map(_.getLong(0)).toSet == keys.toSet)
    }
  }

  test("keys of any kind") {
    def text(n: Int) = UTF8String.fromString(s"key $n")
    for (count <- Seq(1, 11, 5000)) {
      val keys = Seq.tabulate(2 * count)(i => text(i % count))
      val directory =
        check(new RowKeys.Builder(1), projection(StringType), keys, Seq(text(-1), text(count)))
      assert(directory.isInstanceOf[RowKeys])
    }
  }
}
