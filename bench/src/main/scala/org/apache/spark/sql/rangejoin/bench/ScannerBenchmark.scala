// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.condition.{EveryPair, JoinTypeBehavior}
import org.apache.spark.sql.rangejoin.join.PairTests
import org.apache.spark.sql.rangejoin.kernel._
import org.apache.spark.sql.rangejoin.scan.{ScannerParts, StreamedRangeScanner, WindowMetrics}
import org.apache.spark.sql.rangejoin.shims.RaisingArithmetic
import org.apache.spark.sql.rangejoin.window._
import org.apache.spark.sql.types.{DataType, IntegerType, LongType}

import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

/**
 * The scan of a join over rows that are in order already: no shuffle, no sort, no output. 100,000
 * rows a side, `y` is spread over 1,000 units a row, and a row of the left side matches about
 * 2 * `width` rows of the right one of its key.
 *
 *   - `band`: points within `width` rows in either direction.
 *   - `interval`: points in intervals that end 2 * `width` rows after their start.
 *   - `staircase`: intervals that all end together, at the last row of 2 * `width`: a window that
 *     fills and then is empty at once.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MILLISECONDS)
class ScannerBenchmark {

  @Param(Array("1", "64", "10000"))
  var rowsPerKey: Int = _

  @Param(Array("2", "50"))
  var width: Int = _

  @Param(Array("band", "interval", "staircase"))
  var shape: String = _

  @Param(Array("generated", "interpreted"))
  var kernel: String = _

  private val Rows = 100000
  private val Step = 1000L
  private var streamed: Array[InternalRow] = _
  private var buffered: Array[InternalRow] = _
  private var spec: KernelSpec = _

  @Setup
  def setup(): Unit = {
    streamed = side(seed = 1)
    buffered = side(seed = 2)
    val ansi = RaisingArithmetic.Raising
    val key = BoundReference(0, IntegerType, nullable = false)
    val y = BoundReference(1, LongType, nullable = false)
    val end = BoundReference(2, LongType, nullable = false)
    val reach = Literal(width * Step)
    val points = shape == "band"
    def bound(e: Expression, unboundedBelow: Boolean) =
      Some(RangeBound(e, None, unboundedBelow, strict = false))
    spec = KernelSpec(
      Seq(key),
      Seq(key),
      lower = bound(if (points) Subtract(y, reach, ansi) else y, unboundedBelow = true),
      upper = bound(if (points) Add(y, reach, ansi) else y, unboundedBelow = false),
      sortBound = bound(y, unboundedBelow = true),
      evictBound = bound(if (points) y else end, unboundedBelow = false)
    )
  }

  private def side(seed: Int): Array[InternalRow] = {
    val random = new scala.util.Random(seed)
    val toUnsafe = UnsafeProjection.create(Array[DataType](IntegerType, LongType, LongType))
    Array.tabulate[InternalRow](Rows) { i =>
      val y = (i % rowsPerKey) * Step + random.nextInt(Step.toInt)
      val reach = 2 * width * Step
      val end = if (shape == "staircase") (y / reach + 1) * reach else y + reach
      toUnsafe(InternalRow(i / rowsPerKey, y, end)).copy()
    }
  }

  @Benchmark
  def scan(blackhole: Blackhole): Unit = {
    val window = Windows.create(WindowLimits.Unlimited)
    val scanner = StreamedRangeScanner(
      streamed.iterator,
      buffered.iterator,
      ScannerParts(
        if (kernel == "generated") GenerateRangeJoinKernel.generate(spec)
        else new InterpretedRangeJoinKernel(spec),
        window,
        3,
        PairTests(InterpretedPredicate(Literal.TrueLiteral)),
        ScannerBenchmark.metrics,
        keys = 1,
        keepsOrder = false,
        best = None
      ),
      JoinTypeBehavior(None, EveryPair)
    )
    while (scanner.nextStreamed()) {
      while (scanner.nextCandidate()) {
        blackhole.consume(scanner.currentCandidate: UnsafeRow)
      }
    }
    scanner.close()
  }
}

object ScannerBenchmark {
  private def metric = new SQLMetric("sum")
  private def metrics = WindowMetrics(metric, metric, metric, metric, metric, metric)
}
