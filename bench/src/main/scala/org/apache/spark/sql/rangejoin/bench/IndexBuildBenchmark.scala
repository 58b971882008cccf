// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.util.SplittableRandom
import java.util.concurrent.TimeUnit

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode
import org.apache.spark.sql.rangejoin.index.{RangeIndex, RangeIndexMode}
import org.apache.spark.sql.types.{DataType, LongType}

import org.openjdk.jmh.annotations._

/**
 * An index of the rows of a broadcast side, and the hashed relation that stock Spark makes of them: the
 * rows come in no order, have a key, two bounds and a value, all longs, and are read from memory.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MILLISECONDS)
class IndexBuildBenchmark {
  import IndexBuildBenchmark._

  @Param(Array("400000"))
  var rows: Int = _

  @Param(Array("1", "10", "400", "400000"))
  var rowsOfKey: Int = _

  private var side: Array[UnsafeRow] = _

  private val Seq(key, begin, end) =
    Seq(0, 1, 2).map(BoundReference(_, LongType, nullable = false)): @unchecked

  @Setup
  def setup(): Unit = {
    val random = new SplittableRandom(1)
    val columns = Seq.fill[DataType](4)(LongType)
    val row = new SpecificInternalRow(columns)
    val project = UnsafeProjection.create(columns.toArray)
    side = Array.tabulate(rows) { i =>
      row.setLong(0, random.nextLong(rows / rowsOfKey))
      row.setLong(1, random.nextLong(Span))
      row.setLong(2, row.getLong(1) + random.nextLong(Span / 100))
      row.setLong(3, i.toLong)
      project(row).copy()
    }
  }

  private def iterator: Iterator[InternalRow] = side.iterator

  @Benchmark
  def rangeIndex(): RangeIndex =
    RangeIndexMode(
      Seq(key),
      Some(begin),
      Some(end),
      None,
      None,
      linearScanThreshold = 4,
      keyTypes = Seq(LongType)
    )().transform(iterator, Some(rows.toLong))

  @Benchmark
  def hashedRelation(): AnyRef =
    HashedRelationBroadcastMode(Seq(key)).transform(iterator, Some(rows.toLong))
}

object IndexBuildBenchmark {

  /** The bounds of a day, in microseconds. */
  private final val Span = 86400L * 1000 * 1000
}
