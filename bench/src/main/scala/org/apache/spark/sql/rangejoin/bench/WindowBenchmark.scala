// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.rangejoin.window._
import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

/**
 * What a window does with 100,000 rows of 88 bytes, of which `held` are in it at a time, without a
 * scanner around it.
 *
 *   - `slide`: rows come at the tail and leave at the head.
 *   - `compact`: of every ten rows nine leave at once, from the middle; the tenth stays as long as
 *     the window has room.
 *   - `read`: all rows of the window are read, again and again.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MILLISECONDS)
class WindowBenchmark {

  @Param(Array("10", "10000"))
  var held: Int = _

  @Param(Array("memory", "disk"))
  var rowsIn: String = _

  private val Rows = 100000
  private var row: UnsafeRow = _
  private val into = new UnsafeRow(2)

  @Setup
  def setup(): Unit = {
    val project = UnsafeProjection.create(Array[DataType](LongType, StringType))
    row = project(InternalRow(1L, UTF8String.fromString("x" * 64))).copy()
  }

  private def withWindow(use: RangeWindow => Unit): Unit = {
    val onDisk = WindowLimits(math.max(1, held / 10), Long.MaxValue)
    val window = Windows.create(if (rowsIn == "memory") WindowLimits.Unlimited else onDisk)
    try use(window)
    finally window.close()
  }

  @Benchmark
  def slide(): Unit = withWindow { window =>
    var i = 0
    while (i < Rows) {
      window.append(row, i, i)
      if (window.size > held) window.evict(window.nextRow(window.head))
      if (i % 10 == 0) window.settle()
      i += 1
    }
  }

  @Benchmark
  def compact(): Unit = withWindow { window =>
    var i = 0
    while (i < Rows) {
      window.append(row, i, i)
      if (i % 10 != 0) window.evict(window.tail - 1)
      else {
        if (window.size > held) window.evict(window.nextRow(window.head))
        window.settle()
      }
      i += 1
    }
  }

  @Benchmark
  def read(blackhole: Blackhole): Unit = withWindow { window =>
    (0 until held).foreach(i => window.append(row, i, i))
    var reads = 0
    while (reads < Rows) {
      var index = window.nextRow(window.head)
      while (index < window.tail) {
        window.read(index, into)
        blackhole.consume(into)
        index = window.nextRow(index + 1)
        reads += 1
      }
      window.settle()
    }
  }
}
