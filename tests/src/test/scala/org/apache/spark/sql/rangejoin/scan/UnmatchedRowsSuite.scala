// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import scala.util.Random

import org.apache.spark.TaskKilledException

/**
 * Rows that find no match, as outer joins keep them. Rows are those of [[RangeScannerSuite]]; a
 * row without a match comes with `None`.
 */
class UnmatchedRowsSuite extends ScanLaws with RandomRows {

  override protected def forms: Seq[ScanForm] = {
    import ScanForm._
    Seq(Generated, Interpreted) ++ Seq(1, 2, 7).map(inMemory) :+ OffHeap
  }

  private type Found = (Option[Int], Option[Int])

  private def pair(s: Int, b: Int): Found = (Some(s), Some(b))
  private def unmatched(s: Int): Found = (Some(s), None)
  private def left(b: Int): Found = (None, Some(b))

  // ---------------------------------------------------------------- one side kept

  test("every streamed row comes out once at least, where it stands") {
    val streamed = rows(null)((1, 1)) ++ rows(1)((null, 9), (0, 1), (5, 6)) ++ rows(2)((0, 9)) ++
      rows(3)((0, 3), (0, 9))
    val buffered = rows(null)((1, 1)) ++ points(1)(0, 1, 9) ++ points(3)(5)
    assert(scanOuter(streamed, buffered) ==
      Seq(
        unmatched(0),
        unmatched(1),
        pair(2, 1),
        pair(2, 2),
        unmatched(3),
        unmatched(4),
        unmatched(5),
        pair(6, 4)))
  }

  test("a streamed side without another side is all alone") {
    val streamed = points(1)(1, 2) ++ points(2)(1)
    assert(scanOuter(streamed, Nil) == Seq(unmatched(0), unmatched(1), unmatched(2)))
    assert(scanOuter(Nil, streamed).isEmpty)
  }

  test("a streamed row whose candidates are all refused is alone") {
    val found = scanOuter(
      rows(1)((0, 9), (0, 9)),
      points(1)(1, 2),
      matches = (s, b) => s == 1 && b == 1)
    assert(found == Seq(unmatched(0), pair(1, 1)))
  }

  test("a streamed row beyond the last buffered row is alone, and so are all that follow") {
    val found = scanOuter(points(1)(1, 5) ++ points(7)(1), points(1)(1))
    assert(found == Seq(pair(0, 0), unmatched(1), unmatched(2)))
  }

  // ---------------------------------------------------------------- first matches

  test("where one match is enough an error is raised only for a row without one") {
    val unknown = (Long.MinValue, Long.MaxValue)
    def raise(s: Int, b: Int): Boolean =
      if (b == 0) throw new IllegalArgumentException(s"$s with $b") else s == 2
    withScanner(
      rows(1)((0, 9), (2, 3), (2, 4), (6, 9)),
      rows(1)(unknown, unknown, (1, 1), (8, 8)),
      raise,
      stopsAtMatch = true) { (scanner, _) =>
      assert(scanner.nextStreamed() && scanner.nextCandidate())
      assert(current(scanner) == ((0, 2)))
      // Not a match; the error is still kept, and forgotten with the next streamed row.
      assert(scanner.nextCandidate() && current(scanner) == ((0, 3)))
      assert(scanner.nextStreamed() && !scanner.nextCandidate())
      val error = intercept[IllegalArgumentException](scanner.errors.raise())
      assert(error.getMessage == "1 with 0")
      assert(scanner.nextStreamed() && scanner.nextCandidate() && current(scanner) == ((2, 1)))
      assert(scanner.nextStreamed() && scanner.nextCandidate() && current(scanner) == ((3, 3)))
      intercept[TaskKilledException](scanner.errors.keep(new TaskKilledException("killed")))
    }
  }

  // ---------------------------------------------------------------- both sides kept

  test("in a full outer join a row comes out without a match when it leaves") {
    // 0: dead on arrival; 1: matched; 2: evicted from the middle; 3: left when the group ends.
    val buffered = rows(1)((0, 1), (1, 20), (2, 6), (7, 30))
    val streamed = points(1)(5, 9, 10)
    val (found, scan) =
      scanFullOuter(streamed, buffered, matches = (_, b) => b == 1)
    assert(found == Seq(left(0), pair(0, 1), pair(1, 1), left(2), pair(2, 1), left(3)))
    assert(scan.evicted == 2)
  }

  test("in a full outer join NULL keys and bounds of both sides come out") {
    val streamed = rows(null)((1, 1)) ++ rows(1)((null, 9), (0, null), (0, 9))
    val buffered = rows(null)((1, 1)) ++ rows(1)((null, 9), (0, null), (3, 3))
    val (found, _) = scanFullOuter(streamed, buffered)
    assert(found.sorted == (Seq(
      unmatched(0),
      unmatched(1),
      unmatched(2),
      left(0),
      left(1),
      left(2)) :+
      pair(3, 3)).sorted)
  }

  test("in a full outer join groups of one side come out") {
    val streamed = points(2)(1) ++ points(4)(1)
    val buffered = points(1)(1, 2) ++ points(2)(1, 7) ++ points(3)(1) ++ points(5)(1)
    val (found, _) = scanFullOuter(streamed, buffered)
    assert(found == Seq(left(0), left(1), pair(0, 2), left(3), left(4), unmatched(1), left(5)))
  }

  test("in a full outer join an empty side leaves all of the other") {
    val some = points(1)(1, 2) ++ points(2)(3)
    assert(scanFullOuter(some, Nil)._1 == Seq(unmatched(0), unmatched(1), unmatched(2)))
    assert(scanFullOuter(Nil, some)._1 == Seq(left(0), left(1), left(2)))
    assert(scanFullOuter(Nil, Nil)._1.isEmpty)
  }

  test("in a full outer join a row matched by one of many streamed rows does not come out") {
    val (found, _) = scanFullOuter(
      rows(1)((0, 9), (1, 9), (2, 9)),
      points(1)(5),
      matches =
        (s, _) => s == 1)
    assert(found == Seq(unmatched(0), pair(1, 0), unmatched(2)))
  }

  // ---------------------------------------------------------------- random rows

  testOfCases("random rows come out as by comparing all with all", 6)(
    for (unknown <- Seq(false, true); seed <- 1 to seeds / 2) yield (unknown, seed)) { cases =>
    for ((unknown, seed) <- cases) {
      val random = new Random(seed)
      val (streamed, buffered) = (randomRows(random, unknown), randomRows(random, unknown))
      def residual(s: Int, b: Int): Boolean = (s + b) % 3 != 0
      val expected = comparedAll(streamed, buffered)
      val pairs = expected.pairs.filter { case (i, j) => residual(i, j) }
      val matched = pairs.map { case (i, j) => pair(i, j) }
      val unmatchedStreamed = streamed.indices.diff(pairs.map(_._1)).map(unmatched)
      val unmatchedBuffered = buffered.indices.diff(pairs.map(_._2)).map(left)
      assert(
        scanOuter(streamed, buffered, condition, residual).sorted ==
          (matched ++ unmatchedStreamed).sorted,
        s"seed $seed")
      val (full, scan) = scanFullOuter(streamed, buffered, condition, residual)
      assert(
        full.sorted == (matched ++ unmatchedStreamed ++ unmatchedBuffered).sorted,
        s"seed $seed")
      assert(scan.candidates == expected.candidates.size, s"seed $seed")
    }
  }
}
