// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.SlowTests
import org.apache.spark.sql.rangejoin.condition.{EveryPair, JoinTypeBehavior, StreamedRow}
import org.apache.spark.sql.rangejoin.join.PairTests
import org.apache.spark.sql.rangejoin.kernel._
import org.apache.spark.sql.rangejoin.window._
import org.apache.spark.sql.types._

import org.scalactic.source.Position
import org.scalatest.Tag

/** A row of either side, with its two bounds; null is NULL. */
case class Row(key: Any, first: Any, second: Any)

/** What a scan did: the pairs by the positions of their rows, in the order they were found. */
case class Scan(
    pairs: Seq[(Int, Int)],
    asked: Seq[(Int, Int)],
    candidates: Long,
    evicted: Long,
    peakRows: Long)

/**
 * How a scan is made.
 *
 * @param isGenerated whether by the generated kernel
 * @param rowsInMemory how many rows of the window are in memory, the others in blocks on disk
 * @param steps whether candidates are asked for as generated code does it, in an innermost loop of steps
 */
case class ScanForm(
    name: String,
    isGenerated: Boolean = false,
    rowsInMemory: Int = Int.MaxValue,
    steps: Boolean = false,
    offHeap: Boolean = false)

object ScanForm {
  val Generated: ScanForm = ScanForm("generated", isGenerated = true)
  val Interpreted: ScanForm = ScanForm("interpreted")
  val Stepping: ScanForm = ScanForm("by steps", steps = true)
  val SteppingOnDisk: ScanForm = Stepping.copy("by steps, two rows in memory", rowsInMemory = 2)

  def inMemory(rows: Int): ScanForm = ScanForm(s"rows in memory: $rows", rowsInMemory = rows)

  val OffHeap: ScanForm = inMemory(7).copy(name = "off the heap", offHeap = true)
}

/** Laws of scans: each is a test for each form. */
trait ScanLaws extends SlowTests with ScanOfRows {

  protected def forms: Seq[ScanForm]

  override protected def test(name: String, tags: Tag*)(body: => Any)(implicit
      pos: Position): Unit = for (one <- forms) super.test(s"$name: ${one.name}", tags: _*) {
    form = one
    body
  }
}

/** A scanner over rows written by hand, with either kernel and without a session. */
trait ScanOfRows extends TaskMemory {
  import ScanOfRows._

  /** How scans are made. */
  protected var form: ScanForm = ScanForm.Interpreted

  private def kernel: RangeJoinKernel =
    if (form.isGenerated) GenerateRangeJoinKernel.generate(Spec)
    else new InterpretedRangeJoinKernel(Spec)

  override protected def offHeap: Boolean = form.offHeap

  /** Rows of a key by their bounds, and those whose two bounds are one value. */
  protected def rows(key: Any)(bounds: (Any, Any)*): Seq[Row] =
    bounds.map { case (first, second) => Row(key, long(first), long(second)) }

  protected def points(key: Any)(values: Any*): Seq[Row] = rows(key)(values.map(v => (v, v)): _*)

  private def long(bound: Any): Any = bound match {
    case number: Int => number.toLong
    case other       => other
  }

  /** Number of random cases. */
  protected def seeds: Int = if (form.offHeap) 100 else 600

  /** The streamed side, and the buffered side of joins that keep no rows of it, as scanners have them. */
  protected def streamedSide(rows: Seq[Row]): Iterator[InternalRow] = iterator(rows)
  protected def bufferedSide(rows: Seq[Row]): Iterator[InternalRow] = iterator(rows)

  /** Rows of one side as iterators of Spark give them: all in one buffer. */
  protected def iterator(rows: Seq[Row]): Iterator[UnsafeRow] = {
    val project = UnsafeProjection.create(Types)
    rows.iterator.zipWithIndex.map { case (row, i) =>
      project(InternalRow(row.key, row.first, row.second, i))
    }
  }

  /**
   * A scanner whose condition answers by the positions of the rows. Only pairs with a bound that
   * may be unknown are to be asked about.
   */
  protected def withScanner[T](
      streamed: Seq[Row],
      buffered: Seq[Row],
      condition: (Int, Int) => Boolean = (_, _) => false,
      preservesStreamed: Boolean = false,
      stopsAtMatch: Boolean = false)(
      block: (StreamedRangeScanner, () => Scan) => T): T =
    withParts(condition) { (window, tests, metrics, scan) =>
      val scanner = StreamedRangeScanner(
        streamedSide(streamed),
        bufferedSide(buffered),
        parts(window, tests, metrics),
        if (stopsAtMatch) JoinTypeBehavior(None, StreamedRow(ifMatched = !preservesStreamed))
        else JoinTypeBehavior(None, EveryPair, preservesStreamed)
      )
      try block(scanner, scan)
      finally scanner.close()
    }

  private def parts(
      window: RangeWindow,
      tests: PairTests[BasePredicate],
      metrics: WindowMetrics): ScannerParts =
    ScannerParts(
      kernel,
      window,
      Types.length,
      tests,
      metrics,
      keys = 1,
      keepsOrder = false,
      best = None)

  private def withParts[T](condition: (Int, Int) => Boolean)(
      block: (RangeWindow, PairTests[BasePredicate], WindowMetrics, () => Scan) => T): T =
    withWindow(limits = WindowLimits(form.rowsInMemory, Long.MaxValue)) { (window, memory) =>
      val asked = new Condition(condition)
      val metrics = WindowMetrics(metric(), metric(), metric(), metric(), metric(), metric())
      def scan() = Scan(
        Nil,
        asked.pairs.toSeq,
        metrics.candidates.value,
        metrics.evictedRows.value,
        metrics.peakWindowRows.value)
      try block(window, PairTests(asked), metrics, () => scan())
      finally assert(memory.getUsed == 0L)
    }

  /** Runs a scan to its end. */
  protected def scan(
      streamed: Seq[Row],
      buffered: Seq[Row],
      condition: (Int, Int) => Boolean = (_, _) => false): Scan =
    withScanner(streamed, buffered, condition) { (scanner, result) =>
      val pairs = drain(scanner)
      result().copy(pairs = pairs)
    }

  /**
   * Runs a scan of a left outer join to its end. A candidate is a match where `matches` says so;
   * the missing row of a streamed row without a match is `None`.
   */
  protected def scanOuter(
      streamed: Seq[Row],
      buffered: Seq[Row],
      condition: (Int, Int) => Boolean = (_, _) => false,
      matches: (Int, Int) => Boolean = (_, _) => true): Seq[(Option[Int], Option[Int])] =
    withScanner(streamed, buffered, condition, preservesStreamed = true) { (scanner, _) =>
      val rows = mutable.ArrayBuffer.empty[(Option[Int], Option[Int])]
      while (scanner.isScanning || scanner.nextStreamed()) {
        while (scanner.nextCandidateOrNone()) {
          do collect(scanner, scanner.currentCandidate != null, matches).foreach(rows += _)
          while (form.steps && scanner.step())
        }
      }
      rows.toSeq
    }

  /** Likewise for a full outer join, with its metrics. */
  protected def scanFullOuter(
      streamed: Seq[Row],
      buffered: Seq[Row],
      condition: (Int, Int) => Boolean = (_, _) => false,
      matches: (Int, Int) => Boolean = (_, _) => true): (Seq[(Option[Int], Option[Int])], Scan) =
    withParts(condition) { (window, tests, metrics, scan) =>
      val scanner = new BufferedPreservingScanner(
        iterator(streamed),
        iterator(buffered),
        parts(window, tests, metrics))
      val rows = mutable.ArrayBuffer.empty[(Option[Int], Option[Int])]
      while (scanner.nextPair()) collect(scanner, scanner.isPair, matches).foreach(rows += _)
      assert(!scanner.nextPair())
      (rows.toSeq, scan())
    }

  private def collect(
      scanner: RangeScanner,
      isPair: Boolean,
      matches: (Int, Int) => Boolean): Option[(Option[Int], Option[Int])] = {
    val found = (
      Option(scanner.currentStreamed).map(_.getInt(Id)),
      Option(scanner.currentCandidate).map(_.getInt(Id)))
    found match {
      case (Some(s), Some(b)) if isPair =>
        if (matches(s, b)) {
          scanner.markMatched()
          Some(found)
        } else None
      case other =>
        assert(!isPair && (other._1.isEmpty || other._2.isEmpty))
        Some(other)
    }
  }

  protected def drain(scanner: StreamedRangeScanner): Seq[(Int, Int)] = {
    val pairs = mutable.ArrayBuffer.empty[(Int, Int)]
    while (scanner.isScanning || scanner.nextStreamed()) {
      if (scanner.nextCandidate()) {
        if (form.steps) pairs ++= stepThrough(scanner) else pairs += current(scanner)
      }
    }
    pairs.toSeq
  }

  /** As far as steps go, or three rows, as where a consumer has to be served first. */
  private def stepThrough(scanner: StreamedRangeScanner): Seq[(Int, Int)] = {
    val pairs = mutable.ArrayBuffer.empty[(Int, Int)]
    val row = new UnsafeRow(Types.length)
    scanner.beginSteps(row)
    do pairs += ((scanner.currentStreamed.getInt(Id), row.getInt(Id)))
    while (pairs.size < 3 && scanner.step(row))
    scanner.keepStep(row)
    pairs.toSeq
  }

  protected def current(scanner: RangeScanner): (Int, Int) =
    (scanner.currentStreamed.getInt(Id), scanner.currentCandidate.getInt(Id))
}

private[scan] object ScanOfRows {
  val Types: Array[DataType] = Array(IntegerType, LongType, LongType, IntegerType)
  val Id: Int = Types.length - 1

  val Spec: KernelSpec = {
    def column(i: Int) = BoundReference(i, Types(i), nullable = true)
    val (key, first, second) = (column(0), column(1), column(2))
    KernelSpec(Seq(key), Seq(key), Some(first), Some(second), Some(first), Some(second))
  }

  private def metric() = new SQLMetric("sum")

  /** A condition that remembers the pairs it was asked about. */
  private class Condition(answer: (Int, Int) => Boolean) extends BasePredicate {
    val pairs: mutable.ArrayBuffer[(Int, Int)] = mutable.ArrayBuffer.empty

    override def eval(row: InternalRow): Boolean = {
      val pair = (row.getInt(Id), row.getInt(Types.length + Id))
      pairs += pair
      answer(pair._1, pair._2)
    }
  }
}
