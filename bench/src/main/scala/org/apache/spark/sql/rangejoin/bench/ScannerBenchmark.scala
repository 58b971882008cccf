/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.bench

import java.util.concurrent.TimeUnit

import org.apache.spark.SparkConf
import org.apache.spark.memory.{TaskMemoryManager, UnifiedMemoryManager}
import org.apache.spark.serializer.{JavaSerializer, SerializerManager}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.codegen._
import org.apache.spark.sql.rangejoin.exec.{PairTests, ScanMetrics, StreamedRangeScanner}
import org.apache.spark.sql.rangejoin.window._
import org.apache.spark.sql.types.{DataType, IntegerType, LongType}

import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

/**
 * The scan of a band join over rows that are in order already: no shuffle, no sort, no output.
 * 100,000 rows a side; `y` is spread over 1,000 units a row, and the band reaches `width` rows in
 * either direction.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MILLISECONDS)
class ScannerBenchmark {

  @Param(Array("1", "64", "10000"))
  var rowsPerKey: Int = _

  @Param(Array("2", "50"))
  var width: Int = _

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
    val ansi = NumericEvalContext(EvalMode.ANSI)
    val key = BoundReference(0, IntegerType, nullable = false)
    val y = BoundReference(1, LongType, nullable = false)
    val reach = Literal(width * Step)
    def bound(e: Expression, unboundedBelow: Boolean) =
      Some(RangeBound(e, None, unboundedBelow, strict = false))
    spec = KernelSpec(
      Seq(key),
      Seq(key),
      lower = bound(Subtract(y, reach, ansi), unboundedBelow = true),
      upper = bound(Add(y, reach, ansi), unboundedBelow = false),
      sortBound = bound(y, unboundedBelow = true),
      evictBound = bound(y, unboundedBelow = false)
    )
  }

  private def side(seed: Int): Array[InternalRow] = {
    val random = new scala.util.Random(seed)
    val toUnsafe = UnsafeProjection.create(Array[DataType](IntegerType, LongType, LongType))
    Array.tabulate[InternalRow](Rows) { i =>
      val y = (i % rowsPerKey) * Step + random.nextInt(Step.toInt)
      toUnsafe(InternalRow(i / rowsPerKey, y, i.toLong)).copy()
    }
  }

  @Benchmark
  def band(blackhole: Blackhole): Unit = {
    val conf = new SparkConf(false)
    val tasks = new TaskMemoryManager(
      new UnifiedMemoryManager(conf, 1L << 30, 0L, 1),
      0L
    )
    val memory = new WindowMemory(tasks)
    val scanner = new StreamedRangeScanner(
      streamed.iterator,
      buffered.iterator,
      if (kernel == "generated") GenerateRangeJoinKernel.generate(spec)
      else new InterpretedRangeJoinKernel(spec),
      new RangeWindow(
        memory,
        new PagedRowStore(memory, tasks, 1L << 20),
        ScannerBenchmark.noSpillFiles,
        WindowLimits.None
      ),
      3,
      PairTests(InterpretedPredicate(Literal.TrueLiteral)),
      ScannerBenchmark.metrics,
      keepsStreamed = false,
      stopsAtMatch = false
    )
    while (scanner.nextStreamed()) {
      while (scanner.nextCandidate()) {
        blackhole.consume(scanner.currentCandidate: UnsafeRow)
      }
    }
  }
}

object ScannerBenchmark {
  private def metric = new SQLMetric("sum")
  private def metrics = ScanMetrics(metric, metric, metric, metric, metric, metric)

  private val noSpillFiles = new SpillFiles(
    new SerializerManager(new JavaSerializer(new SparkConf(false)), new SparkConf(false)),
    () => throw new IllegalStateException("there is memory for all rows")
  )
}
