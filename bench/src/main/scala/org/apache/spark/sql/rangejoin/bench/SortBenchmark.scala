// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.util.SplittableRandom
import java.util.concurrent.TimeUnit

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{RDDScanExec, SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession
import org.apache.spark.sql.rangejoin.sort.RangeSortExec
import org.apache.spark.sql.types.{DataType, LongType}

import org.openjdk.jmh.annotations._

/**
 * The sort of 500,000 rows of four longs by (key, bound), read to the end: the range sort beside
 * Spark's `SortExec`, and `SortExec` by the key alone, which is what a stock sort-merge join sorts
 * by. Bounds are spread over 1e9; keys are 0 to 99, 0 to 999,999, or any long.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MILLISECONDS)
class SortBenchmark {

  @Param(Array("100", "1000000", "any"))
  var keys: String = _

  @Param(Array("range", "stock", "key"))
  var sort: String = _

  private var spark: SparkSession = _
  private var plan: SparkPlan = _

  @Setup
  def setup(): Unit = {
    spark = LocalSession.create()
    val random = new SplittableRandom(1)
    val project = UnsafeProjection.create(Array.fill[DataType](4)(LongType))
    SortBenchmark.rows = Array.tabulate[InternalRow](500000) { i =>
      val key = if (keys == "any") random.nextLong() else random.nextLong(keys.toLong)
      project(InternalRow(key, random.nextLong(1000000000L), i.toLong, -i.toLong)).copy()
    }
    val rows = spark.sparkContext.parallelize(Seq(0), 1)
      .mapPartitions(_ => SortBenchmark.rows.iterator)
    val columns = Seq("k", "y", "a", "b").map(AttributeReference(_, LongType)())
    val child = RDDScanExec(columns, rows, "rows")
    val order = columns.take(2).map(SortOrder(_, Ascending))
    plan = sort match {
      case "range" => RangeSortExec.sort(order, child)
      case "stock" => SortExec(order, global = false, child)
      case "key"   => SortExec(order.take(1), global = false, child)
    }
    assert(plan.isInstanceOf[RangeSortExec] == (sort == "range"))
  }

  @TearDown
  def tearDown(): Unit = spark.stop()

  @Benchmark
  def sorted(): Long = plan.execute().mapPartitions { rows =>
    var sum = 0L
    while (rows.hasNext) sum += rows.next().getLong(1)
    Iterator.single(sum)
  }.collect().head
}

private object SortBenchmark {

  /** Here, so that they are no part of what is sent to tasks. */
  @volatile private var rows: Array[InternalRow] = _
}
