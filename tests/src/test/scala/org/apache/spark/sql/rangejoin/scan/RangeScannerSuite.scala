// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import scala.util.Random

/**
 * What a scan finds, over rows that can be checked by eye. A streamed row is its key, lower and
 * upper bound, a buffered row its key, sort and evict bound; each side comes sorted by the first
 * two. A point is a row whose bounds are one value.
 */
class RangeScannerSuite extends ScanLaws with RandomRows {

  override protected def forms: Seq[ScanForm] = {
    import ScanForm._
    Seq(Generated, Interpreted, Stepping, SteppingOnDisk) ++ Seq(1, 2, 7).map(inMemory) :+ OffHeap
  }

  private val Unknown = (Long.MinValue, Long.MaxValue)

  /** A scan in which no pair is unknown: all candidates are in the result, none is asked about. */
  private def scanKnown(streamed: Seq[Row], buffered: Seq[Row]): Scan = {
    val found = scan(streamed, buffered)
    assert(found.asked.isEmpty)
    assert(found.candidates == found.pairs.size)
    found
  }

  // ---------------------------------------------------------------- shapes

  test("a band pairs each streamed row with the points around it") {
    val found = scanKnown(
      rows(1)((-2, 2), (3, 7), (8, 12)),
      points(1)(0, 2, 3, 4, 8, 13))
    assert(found.pairs == Seq((0, 0), (0, 1), (1, 2), (1, 3), (2, 4)))
    assert(found.evicted == 4)
    assert(found.peakRows <= 4)
  }

  test("bounds are inclusive at both ends") {
    assert(scanKnown(rows(1)((3, 5)), points(1)(2, 3, 5, 6)).pairs == Seq((0, 1), (0, 2)))
  }

  test("a band that moves up a staircase holds the rows of two steps at most") {
    val found = scanKnown(points(1)(0 until 100: _*), points(1)(0 until 100: _*))
    assert(found.pairs == (0 until 100).map(i => (i, i)))
    assert(found.peakRows <= 2)
    assert(found.evicted == 99)
  }

  test("intervals that overlap leave the window when they end, from the middle too") {
    // Buffered: start and end. Streamed: start and end, for start <= end on both sides.
    val buffered = rows(1)((0, 100), (1, 2), (2, 30), (3, 4), (40, 60))
    val streamed = rows(1)((1, 3), (10, 20), (35, 45), (50, 50))
    val found = scanKnown(streamed, buffered)
    assert(found.pairs == Seq(
      (0, 0),
      (0, 1),
      (0, 2),
      (0, 3),
      (1, 0),
      (1, 2),
      (2, 0),
      (2, 4),
      (3, 0),
      (3, 4)))
    assert(found.evicted == 3)
    assert(found.peakRows == 4)
  }

  test("ties are paired all with all") {
    val found = scanKnown(points(1)(5, 5, 5), points(1)(4, 5, 5, 6))
    assert(found.pairs == (for (s <- 0 to 2; b <- 1 to 2) yield (s, b)))
  }

  test("behind a row that stays one may have ended, be it that a window was empty before") {
    // Ends rise, fall within the first window, and rise again in the second.
    val buffered = rows(1)((0, 5), (1, 9), (2, 3), (20, 22), (21, 30), (22, 23))
    val found = scanKnown(points(1)(2, 4, 8, 15, 22, 23, 25), buffered)
    assert(found.pairs == Seq((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 1)) ++
      Seq((4, 3), (4, 4), (4, 5), (5, 4), (5, 5), (6, 4)))
  }

  test("a point in an interval finds all intervals around it") {
    val found = scanKnown(points(1)(5, 15, 25), rows(1)((0, 20), (4, 6), (10, 30), (16, 17)))
    assert(found.pairs == Seq((0, 0), (0, 1), (1, 0), (1, 2), (2, 2)))
    // The last interval has ended before a point would admit it.
    assert(found.peakRows <= 3)
  }

  test("an upper bound that falls ends the scan early, and one that rises again goes on") {
    val found = scanKnown(rows(1)((0, 9), (0, 2), (1, 5)), points(1)(0, 2, 4, 6))
    assert(found.pairs == Seq((0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (2, 1), (2, 2)))
  }

  test("an inverted band matches nothing, and the next one finds its rows") {
    val found = scanKnown(rows(1)((5, 1), (5, 6)), points(1)(1, 3, 5, 6))
    assert(found.pairs == Seq((1, 2), (1, 3)))
    assert(found.evicted == 2)
    assert(scanKnown(rows(1)((6, 4), (9, 2)), points(1)(1, 3, 5, 7)).pairs.isEmpty)
  }

  test("rows dead on arrival are never stored") {
    val found = scanKnown(rows(1)((50, 60)), points(1)(0 until 55: _*))
    assert(found.pairs == (50 until 55).map((0, _)))
    assert(found.peakRows == 5)
    assert(found.evicted == 50)
  }

  test("a row beyond the window waits and is not lost") {
    val found = scanKnown(rows(1)((0, 1), (0, 1), (8, 9)), points(1)(1, 9))
    assert(found.pairs == Seq((0, 0), (1, 0), (2, 1)))
  }

  // ---------------------------------------------------------------- groups

  test("rows of different keys are not paired") {
    val found = scanKnown(points(1)(5) ++ points(2)(5), points(1)(5) ++ points(2)(5))
    assert(found.pairs == Seq((0, 0), (1, 1)))
    assert(found.peakRows == 1)
  }

  test("groups that are missing on one side are passed over") {
    val streamed = points(1)(5) ++ points(2)(5) ++ points(4)(5) ++ points(6)(5)
    val buffered = points(0)(5) ++ points(2)(5) ++ points(3)(5) ++ points(6)(5) ++ points(7)(5)
    assert(scanKnown(streamed, buffered).pairs == Seq((1, 1), (3, 3)))
  }

  test("what is left of a group is passed over when its key ends") {
    val streamed = rows(1)((0, 1)) ++ rows(2)((0, 1))
    val buffered = points(1)(0, 1, 7, 8) ++ points(2)(1, 9)
    val found = scanKnown(streamed, buffered)
    assert(found.pairs == Seq((0, 0), (0, 1), (1, 4)))
    assert(found.peakRows == 2)
  }

  test("a group whose lower bounds begin anew sees all of its rows") {
    val streamed = rows(1)((90, 99)) ++ rows(2)((0, 99))
    val buffered = points(1)(1, 95) ++ points(2)(1, 95)
    assert(scanKnown(streamed, buffered).pairs == Seq((0, 1), (1, 2), (1, 3)))
  }

  test("a side without rows gives no pairs") {
    assert(scanKnown(Nil, Nil).pairs.isEmpty)
    assert(scanKnown(points(1)(1, 2), Nil).pairs.isEmpty)
    assert(scanKnown(Nil, points(1)(1, 2)).pairs.isEmpty)
  }

  // ---------------------------------------------------------------- NULL and unknown

  test("a NULL key or bound matches nothing, not even NULL") {
    val nulls = points(null)(1) ++ rows(1)((null, 9), (0, null), (null, null))
    val found = scanKnown(nulls ++ rows(1)((0, 9)), nulls ++ points(1)(3))
    assert(found.pairs == Seq((4, 4)))
    assert(found.peakRows == 1)
  }

  test("a side of NULLs gives no pairs") {
    val nulls = points(null)(1) ++ points(1)(null, null)
    assert(scanKnown(nulls, points(1)(1)).pairs.isEmpty)
    assert(scanKnown(points(1)(1), nulls).pairs.isEmpty)
  }

  test("an unknown streamed row asks the condition about every row of its key") {
    val streamed = rows(1)(Unknown, (4, 6))
    val buffered = points(1)(1, 5, 9) ++ points(2)(5)
    val found = scan(streamed, buffered, (s, b) => s == 0 && b == 2)
    assert(found.asked == Seq((0, 0), (0, 1), (0, 2)))
    assert(found.pairs == Seq((0, 2), (1, 1)))
    assert(found.candidates == 4)
  }

  test("an unknown buffered row is asked about for every row of its key, and known ones are not") {
    val streamed = rows(1)((0, 1), (4, 6), (8, 9)) ++ rows(2)((0, 9))
    val buffered = rows(1)(Unknown, (5, 5)) ++ points(2)(5)
    val found = scan(streamed, buffered, (s, _) => s != 1)
    assert(found.asked == Seq((0, 0), (1, 0), (2, 0)))
    assert(found.pairs == Seq((0, 0), (1, 1), (2, 0), (3, 2)))
    // A row that is never evicted by its bound leaves with its group.
    assert(found.evicted == 1)
  }

  test("one unknown bound asks about what the other bound leaves") {
    val below = scan(rows(1)((Long.MinValue, 5)), points(1)(1, 9), (_, _) => true)
    assert(below.asked == Seq((0, 0)) && below.pairs == Seq((0, 0)))
    val above = scan(rows(1)((5, Long.MaxValue)), points(1)(1, 9), (_, _) => true)
    assert(above.asked == Seq((0, 1)) && above.pairs == Seq((0, 1)))
    val sort = scan(rows(1)((0, 1), (3, 9)), rows(1)((Long.MinValue, 2)), (_, _) => true)
    assert(sort.asked == Seq((0, 0)) && sort.pairs == Seq((0, 0)) && sort.evicted == 1)
    val evict = scan(rows(1)((0, 1), (3, 9)), rows(1)((2, Long.MaxValue)), (_, _) => true)
    assert(evict.asked == Seq((1, 0)) && evict.pairs == Seq((1, 0)))
  }

  test("a group after one with unknown rows asks about none") {
    val streamed = rows(1)((0, 9)) ++ rows(2)((0, 9), (1, 9))
    val buffered = rows(1)(Unknown, Unknown) ++ points(2)(1, 2)
    val found = scan(streamed, buffered)
    assert(found.asked == Seq((0, 0), (0, 1)))
    assert(found.pairs == Seq((1, 2), (1, 3), (2, 2), (2, 3)))
  }

  // ---------------------------------------------------------------- driving the scanner

  test("a scan can be left and taken up at any candidate") {
    withScanner(rows(1)((0, 9), (2, 3)), points(1)(1, 2, 3)) { (scanner, _) =>
      assert(!scanner.isScanning)
      assert(scanner.nextStreamed() && scanner.isScanning)
      val found = Seq.fill(3) {
        assert(scanner.nextCandidate())
        current(scanner)
      }
      assert(found == Seq((0, 0), (0, 1), (0, 2)))
      assert(!scanner.nextCandidate() && !scanner.isScanning)
      assert(drain(scanner) == Seq((1, 1), (1, 2)))
    }
  }

  test("a streamed row can be left before its candidates are exhausted") {
    withScanner(rows(1)((0, 9), (0, 9), (3, 9)), points(1)(1, 2, 3)) { (scanner, _) =>
      val first = Seq.fill(3) {
        assert(scanner.nextStreamed() && scanner.nextCandidate())
        current(scanner)
      }
      assert(first == Seq((0, 0), (1, 0), (2, 2)))
      assert(!scanner.nextStreamed())
    }
  }

  test("a scanner that is at its end stays there") {
    withScanner(rows(1)((0, 9)), points(1)(1)) { (scanner, _) =>
      assert(drain(scanner) == Seq((0, 0)))
      for (_ <- 1 to 2) assert(!scanner.nextStreamed() && !scanner.isScanning)
    }
  }

  test("a scanner may be closed twice and in the middle of a scan, and reports once") {
    withScanner(rows(1)((0, 9), (0, 9)), points(1)(1, 2, 3)) { (scanner, result) =>
      assert(scanner.nextStreamed() && scanner.nextCandidate())
      assert(result().candidates == 0)
      scanner.close()
      scanner.close()
      assert(result() == Scan(Nil, Nil, candidates = 1, evicted = 0, peakRows = 3))
      assert(!scanner.isScanning && !scanner.nextStreamed())
    }
  }

  test("no more of the streamed side is read once no buffered row is left") {
    val streamed = rows(1)((0, 1), (2, 3), (4, 5))
    withScanner(streamed, points(1)(0)) { (scanner, _) =>
      assert(scanner.nextStreamed() && scanner.nextCandidate() && !scanner.nextCandidate())
      // The window is empty only when the second row has evicted the first buffered one.
      assert(scanner.nextStreamed() && !scanner.nextCandidate())
      assert(!scanner.nextStreamed())
      assert(scanner.currentStreamed.getInt(3) == 1)
    }
  }

  // ---------------------------------------------------------------- random rows

  testOfCases("random rows are paired as by comparing all with all", 3)(
    for (unknown <- Seq(false, true); seed <- 1 to seeds / 2) yield (unknown, seed)) { cases =>
    var found = 0
    for ((unknown, seed) <- cases) {
      val random = new Random(seed)
      val (streamed, buffered) = (randomRows(random, unknown), randomRows(random, unknown))
      val expected = comparedAll(streamed, buffered)
      val result = scan(streamed, buffered, condition)
      assert(result.pairs.sorted == expected.pairs.sorted, s"seed $seed: $streamed $buffered")
      assert(result.asked.sorted == expected.asked.sorted, s"seed $seed")
      assert(result.candidates == expected.candidates.size, s"seed $seed")
      assert(result.evicted <= buffered.size, s"seed $seed")
      assert(result.peakRows <= buffered.size, s"seed $seed")
      found += expected.candidates.size
    }
    assert(found > 9 * cases.size)
  }
}
