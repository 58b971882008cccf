// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import scala.util.Random

import org.apache.spark.memory.{MemoryConsumer, MemoryMode}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.rangejoin.kernel.Run
import org.apache.spark.sql.rangejoin.window.TaskMemory
import org.apache.spark.sql.types._

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

/** Aggregates of runs are those of their rows, one by one, whatever is kept of the runs before. */
class RunAggregatesSuite extends AnyFunSuite with TaskMemory {
  import RunAggregates._
  import RunAggregatesSuite._

  private val x = AttributeReference("x", LongType, nullable = false)()

  private def aggregation(functions: AggregateFunction*): MatchAggregation =
    MatchAggregation.of(functions.map(_.toAggregateExpression()), Seq(x))

  private val simple = aggregation(Count(x), new Sum(x), Min(x), Max(x), new Average(x))

  /** Compares a run with its rows, one by one. */
  private def check(
      runs: RunAggregates,
      aggregation: MatchAggregation,
      rows: Rows,
      epoch: Long,
      from: Int,
      until: Int,
      common: Int): Unit = {
    val expected = MatchAggregator.create(aggregation)
    expected.clear()
    rows.values.slice(from, until).foreach(v => expected.update(InternalRow(v)))
    runs.aggregate(rows, epoch, rows.oldest, from, until, common)
    assert(runs.result == expected.result(), s"[$from, $until) by $common")
  }

  private def randomRows(count: Int, seed: Int): Rows = {
    val random = new Random(seed)
    new Rows(Array.fill(count)(random.nextInt(1000).toLong))
  }

  private def withRuns(aggregation: MatchAggregation, bytes: Long = 64L << 20)(
      block: RunAggregates => Unit): Unit =
    withTask(bytes) { task =>
      val runs = new RunAggregates(aggregation, task)
      try block(runs)
      finally runs.close()
    }

  test("runs from anywhere to anywhere, in any order") {
    val rows = randomRows(5000, 1)
    val random = new Random(2)
    withRuns(simple) { runs =>
      for (_ <- 1 to 400) {
        val from = random.nextInt(rows.values.length)
        val until = from + random.nextInt(rows.values.length - from + 1)
        check(runs, simple, rows, 0L, from, until, NoEnd)
      }
    }
  }

  test("runs that slide, those before which are let go of, and one that goes back") {
    val rows = randomRows(20000, 3)
    withRuns(simple) { runs =>
      for (from <- (0 until 19000 by 70) ++ Seq(40, 0))
        check(runs, simple, rows, 0L, from, from + 900, NoEnd)
      rows.oldest = 0
    }
    withRuns(simple) { runs =>
      for (from <- 0 until 19000 by 70) {
        rows.oldest = from
        check(runs, simple, rows, 1L, from, from + 900, NoEnd)
      }
    }
  }

  test("runs that have one end in common, of several groups, in any order", Slow) {
    val rows = randomRows(3000, 4)
    val groups = Seq(0 -> 17, 17 -> 1000, 1000 -> 1001, 1001 -> 3000)
    val random = new Random(5)
    withRuns(simple) { runs =>
      for (_ <- 1 to 400) {
        val (begin, end) = groups(random.nextInt(groups.size))
        val inside = begin + random.nextInt(end - begin + 1)
        check(runs, simple, rows, 0L, begin, inside, Begin)
        check(runs, simple, rows, 0L, inside, end, End)
      }
    }
  }

  test("a run with an end in common reads no more than the rows of two blocks") {
    val rows = randomRows(4096, 6)
    withRuns(simple) { runs =>
      runs.aggregate(rows, 0L, rows.oldest, 0, 4096, Begin)
      for (until <- 1 to 4096) {
        rows.reads = 0
        runs.aggregate(rows, 0L, rows.oldest, 0, until, Begin)
        assert(rows.reads < 32, s"until $until")
      }
    }
  }

  test("other rows at the same positions") {
    withRuns(simple) { runs =>
      for (epoch <- 1 to 5; common <- Seq(NoEnd, Begin, End); until <- Seq(100, 333, 512))
        check(runs, simple, randomRows(512, epoch), epoch.toLong, 0, until, common)
    }
  }

  test("rows that raise are taken one by one, and raise in the runs they are in") {
    val fussy = aggregation(new Sum(Fussy(x)), Count(x))
    val rows = new Rows(Array.tabulate(600)(i => if (i == 200) 13L else (i % 10).toLong))
    withRuns(fussy) { runs =>
      for ((from, until) <- Seq(0 -> 200, 201 -> 600, 190 -> 200, 201 -> 220); _ <- 1 to 2) {
        check(runs, fussy, rows, 0L, from, until, NoEnd)
        check(runs, fussy, rows, 0L, from, until, Begin)
        intercept[ArithmeticException](runs.aggregate(rows, 0L, rows.oldest, 190, 220, NoEnd))
      }
      intercept[ArithmeticException](runs.aggregate(rows, 0L, rows.oldest, 0, 201, Begin))
      check(runs, fussy, rows, 0L, 201, 600, End)
    }
  }

  test("without memory, and with memory that another consumer asks for") {
    val rows = randomRows(5000, 7)
    withRuns(simple, bytes = 1L) { runs =>
      for (from <- 0 to 4000 by 100) check(runs, simple, rows, 0L, from, 5000, End)
    }
    withTask(1L << 20) { task =>
      val runs = new RunAggregates(simple, task)
      val other = new MemoryConsumer(task, MemoryMode.ON_HEAP) {
        override def spill(size: Long, trigger: MemoryConsumer): Long = 0L
      }
      for (from <- 0 to 4000 by 100) {
        check(runs, simple, rows, 0L, from, 5000, End)
        val got = other.acquireMemory(1L << 20)
        assert(got == (1L << 20), "what can be made again is given up")
        check(runs, simple, rows, 0L, from, 4900, NoEnd)
        other.freeMemory(got)
      }
      runs.close()
    }
  }

  test("a run reads a part of its rows, also where there is no memory", Slow) {
    val rows = randomRows(20000, 10)
    val shapes = Seq[(Int, Int => (Int, Int))](
      Begin -> (at => 0 -> at),
      End -> (at => at -> 20000),
      NoEnd -> (at => at -> math.min(at + 9000, 20000)))
    for ((common, run) <- shapes; bytes <- Seq(1L, 64L << 20)) withRuns(simple, bytes) { runs =>
      rows.reads = 0
      for (at <- 0 until 20000) {
        val (from, until) = run(at)
        runs.aggregate(rows, 0L, rows.oldest, from, until, common)
      }
      val mostRead = if (bytes > 1L) 50 else if (common == Begin) 50 else 600
      assert(rows.reads < mostRead * 20000L, s"$common with $bytes bytes")
    }
  }

  test("buffers that are of no more interest make room for others") {
    val rows = randomRows(600000, 11)
    // Buffers of strings are counted, whatever they are of.
    val text = aggregation(Count(x), Max(Cast(x, StringType)))
    withRuns(text, bytes = 1200L << 10) { runs =>
      for (from <- 0 until 500000 by 70) {
        rows.oldest = from
        if (from == 350000) rows.reads = 0
        runs.aggregate(rows, 0L, rows.oldest, from, from + 100000, NoEnd)
      }
      assert(rows.reads / (150000 / 70) < 1000)
    }
  }

  test("buffers of many functions, of decimals and of strings") {
    val text = Cast(x, StringType)
    val wide = Cast(x, DecimalType(38, 10))
    val many = aggregation(
      Seq(new Sum(wide), new Average(wide), Max(text), Min(text)) ++
        Seq.tabulate(60)(i => new Sum(Add(x, Literal(i.toLong)))): _*)
    val rows = randomRows(400, 8)
    withRuns(many)(runs => for (from <- 0 to 300 by 50) check(runs, many, rows, 0L, from, 400, End))
    val fixed = aggregation(
      Seq(new Sum(wide), new Average(wide)) ++
        Seq.tabulate(60)(i => new Sum(Add(x, Literal(i.toLong)))): _*)
    assert(fixed.isFixed && !many.isFixed)
    withRuns(fixed)(runs =>
      for (from <- 0 to 300 by 50) check(runs, fixed, rows, 0L, from, 400, NoEnd))
  }

  test("an interpreted aggregator has the buffers of the generated one") {
    val rows = randomRows(100, 9)
    val generated = GenerateMatchAggregator.generate(simple)
    val interpreted = new InterpretedMatchAggregator(simple)
    Seq(generated, interpreted).foreach(_.clear())
    for (value <- rows.values) {
      Seq(generated, interpreted).foreach(_.update(InternalRow(value)))
      assert(generated.result() == interpreted.result())
    }
    val other = generated.result().copy()
    Seq(generated, interpreted).foreach(_.merge(other))
    assert(generated.result() == interpreted.result())
  }
}

private object RunAggregatesSuite {

  /** Rows of one value each; counts how often one is read. */
  class Rows(val values: Array[Long]) extends Run {
    private val project = UnsafeProjection.create(Array[DataType](LongType))
    var reads = 0

    var oldest = 0

    override def bound(position: Int): Long = position.toLong

    override def firstFrom(from: Int, end: Int, bound: Long): Int =
      math.max(from.toLong, math.min(end.toLong, bound)).toInt

    override def lastCandidate(from: Int, end: Int): Int = end - 1

    override def read(position: Int, row: UnsafeRow): Unit = {
      reads += 1
      val read = project(InternalRow(values(position)))
      row.pointTo(read.getBaseObject, read.getBaseOffset, read.getSizeInBytes)
    }
  }
}

/** Raises for 13. */
private case class Fussy(child: Expression) extends UnaryExpression with CodegenFallback {
  override def dataType: DataType = child.dataType

  override protected def nullSafeEval(value: Any): Any =
    if (value == 13L) throw new ArithmeticException("thirteen") else value

  override protected def withNewChildInternal(newChild: Expression): Fussy = copy(child = newChild)
}
