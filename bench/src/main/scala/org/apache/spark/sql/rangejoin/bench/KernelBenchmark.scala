// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.kernel._
import org.apache.spark.sql.rangejoin.shims.RaisingArithmetic
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

/** Keys and bounds of 1,000 rows of each side, and a comparison of the keys of each pair. */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
class KernelBenchmark {

  @Param(Array("int", "long", "double", "decimal(12,2)", "decimal(30,2)", "string"))
  var key: String = _

  @Param(Array("generated", "interpreted"))
  var engine: String = _

  private val Rows = 1000
  private var rows: Array[InternalRow] = _
  private var kernel: RangeJoinKernel = _

  @Setup
  def setup(): Unit = {
    val keyType = DataType.fromDDL(key)
    val project = UnsafeProjection.create(Array(keyType, LongType))
    rows = Array.tabulate[InternalRow](Rows) { i =>
      val value = keyType match {
        case IntegerType          => i
        case LongType             => i.toLong
        case DoubleType           => i.toDouble
        case decimal: DecimalType => Decimal(BigDecimal(i), decimal.precision, decimal.scale)
        case _                    => UTF8String.fromString(s"key number $i")
      }
      project(InternalRow(value, i.toLong)).copy()
    }
    val ansi = RaisingArithmetic.Raising
    val column = BoundReference(0, keyType, nullable = false)
    val y = BoundReference(1, LongType, nullable = false)
    def bound(e: Expression, unboundedBelow: Boolean) =
      Some(RangeBound(e, None, unboundedBelow, strict = false))
    val spec = KernelSpec(
      Seq(column),
      Seq(column),
      lower = bound(Subtract(y, Literal(5L), ansi), unboundedBelow = true),
      upper = bound(Add(y, Literal(5L), ansi), unboundedBelow = false),
      sortBound = bound(y, unboundedBelow = true),
      evictBound = bound(y, unboundedBelow = false)
    )
    kernel =
      if (engine == "generated") GenerateRangeJoinKernel.generate(spec)
      else new InterpretedRangeJoinKernel(spec)
  }

  @Benchmark
  def load(blackhole: Blackhole): Unit = {
    var i = 0
    while (i < Rows) {
      blackhole.consume(kernel.loadStreamed(rows(i)))
      blackhole.consume(kernel.loadBuffered(rows(i)))
      blackhole.consume(kernel.compareStreamedWithBuffered())
      i += 1
    }
  }
}
