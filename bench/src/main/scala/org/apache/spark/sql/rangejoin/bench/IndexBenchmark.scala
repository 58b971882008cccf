// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.util.SplittableRandom
import java.util.concurrent.TimeUnit

import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.apache.spark.sql.rangejoin.index.{RangeCursor, RangeIndexMode}
import org.apache.spark.sql.types.{DataType, LongType}

import org.openjdk.jmh.annotations._

/**
 * Points at random, each searched in an index of intervals without a key: nanoseconds of a point. Half of the
 * points are in an interval; `heavy-tailed` intervals overlap: six or so of them have a point.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
class IndexBenchmark {
  import IndexBenchmark._

  @Param(Array("500000", "10000000"))
  var rows: Int = _

  @Param(Array("disjoint", "heavy-tailed"))
  var shape: String = _

  private var cursor: RangeCursor = _
  private val points = new Array[Long](Points)

  @Setup
  def setup(): Unit = {
    val random = new SplittableRandom(1)
    val columns = Array[DataType](LongType, LongType, LongType)
    val row = new SpecificInternalRow(columns.toSeq)
    val project = UnsafeProjection.create(columns)
    val intervals = Iterator.tabulate(rows) { i =>
      val begin = i.toLong * Step
      row.setLong(0, begin)
      row.setLong(1, begin + (if (shape == "disjoint") Step / 2 else heavyTailed(random)))
      row.setLong(2, i.toLong)
      project(row)
    }
    val Seq(begin, end) = Seq(0, 1).map(BoundReference(_, LongType, nullable = false)): @unchecked
    val mode = RangeIndexMode(Nil, Some(begin), Some(end), None, None, linearScanThreshold = 0)()
    cursor = mode.transform(intervals, Some(rows.toLong)).cursor()
    for (i <- points.indices) points(i) = random.nextLong(rows.toLong * Step)
  }

  /** Finds the intervals, without looking at them. */
  @Benchmark
  @OperationsPerInvocation(Points)
  def find(): Long = {
    var i = 0
    while (i < Points) {
      seek(points(i))
      while (cursor.next()) {}
      i += 1
    }
    cursor.candidates
  }

  /** Finds the intervals, and reads a column of each. */
  @Benchmark
  @OperationsPerInvocation(Points)
  def findAndRead(): Long = {
    var sum = 0L
    var i = 0
    while (i < Points) {
      seek(points(i))
      while (cursor.next()) sum += cursor.row.getLong(2)
      i += 1
    }
    sum
  }

  private def seek(point: Long): Unit = if (cursor.seek()) cursor.search(point, point)
}

object IndexBenchmark {
  private final val Points = 1 << 20
  private final val Step = 8192L

  /** Half a step or longer; the length that one of `n` has is in proportion to `n`. */
  private def heavyTailed(random: SplittableRandom): Long =
    (Step / 2 / math.max(random.nextDouble(), 1e-5)).toLong
}
