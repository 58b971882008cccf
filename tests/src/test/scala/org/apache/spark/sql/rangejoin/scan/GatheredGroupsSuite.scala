// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, BoundReference, SortOrder}
import org.apache.spark.sql.rangejoin.sort.GroupSorter

/** Scans of sides that are in order by key alone, and are put in order only where a group is large. */
class GatheredGroupsSuite extends ScanLaws with RandomRows {
  import ScanOfRows.Types

  private var sortsStreamed = true
  private var sortsBuffered = true
  private var sorters = Seq.empty[GroupSorter]

  override protected def forms: Seq[ScanForm] =
    Seq(ScanForm.Generated, ScanForm.Stepping, ScanForm.OffHeap.copy(rowsInMemory = 3))

  override protected def seeds: Int = super.seeds / 2

  override protected def streamedSide(rows: Seq[Row]): Iterator[InternalRow] =
    if (sortsStreamed) sorted(rows) else iterator(rows)

  override protected def bufferedSide(rows: Seq[Row]): Iterator[InternalRow] =
    if (sortsBuffered) sorted(rows) else iterator(rows)

  private def sorted(rows: Seq[Row]): Iterator[InternalRow] = {
    val order = Seq(0, 1).map(i => SortOrder(BoundReference(i, Types(i), true), Ascending))
    val sorter = new GroupSorter(order, 1, Types.length, levelOfLarge = 1)
    sorters :+= sorter
    sorter.sorted(iterator(rows))
  }

  private def groupsSorted: Long = sorters.map(_.numGroups).sum

  private def withSides[T](streamed: Boolean, buffered: Boolean)(block: => T): T = {
    sortsStreamed = streamed
    sortsBuffered = buffered
    sorters = Nil
    block
  }

  /** Some tens of rows, in order by key, and by their first bounds only where that is asked for. */
  private def rowsOfKeys(random: Random, inOrder: Boolean): Seq[Row] = {
    val some = Seq.fill(1 + random.nextInt(5))(randomRows(random, unknown = random.nextBoolean()))
    def first(row: Row) = Option(row.first).map(_.asInstanceOf[Long])
    val rows = if (inOrder) some.flatten.sortBy(first) else random.shuffle(some.flatten)
    rows.sortBy(row => Option(row.key).map(_.asInstanceOf[Int]))
  }

  private def points(key: Int, values: Seq[Long]): Seq[Row] = values.map(v => Row(key, v, v))

  private val Sides = Seq((true, true), (true, false), (false, true))

  testOfCases("random rows are paired as by comparing all with all", 5)(1 to seeds) { some =>
    var (found, sorts) = (0, 0L)
    for (seed <- some; (ofStreamed, ofBuffered) <- Sides)
      withSides(ofStreamed, ofBuffered) {
        val random = new Random(seed)
        val streamed = rowsOfKeys(random, inOrder = !ofStreamed)
        val buffered = rowsOfKeys(random, inOrder = !ofBuffered)
        def matches(s: Int, b: Int): Boolean = (s + b) % 3 != 0
        val expected = comparedAll(streamed, buffered)
        val result = scan(streamed, buffered, condition)
        assert(result.pairs.sorted == expected.pairs.sorted, s"seed $seed")
        assert(result.asked.sorted == expected.asked.sorted, s"seed $seed")
        assert(result.candidates == expected.candidates.size, s"seed $seed")
        found += expected.candidates.size
        sorts += groupsSorted
        val matched = expected.pairs.filter { case (i, j) => matches(i, j) }
        val alone = streamed.indices.toSet -- matched.map(_._1)
        val outer = matched.map { case (i, j) => (Option(i), Option(j)) } ++
          alone.map(i => (Option(i), Option.empty[Int]))
        assert(scanOuter(streamed, buffered, condition, matches).sorted == outer.sorted)
      }
    assert(found > 30 * some.size)
    assert(sorts > some.size / 10)
  }

  test("a group of few buffered rows is not put in order, however many are streamed") {
    val values = Random.shuffle((0L until 16L).toList)
    for ((ofStreamed, ofBuffered) <- Sides) withSides(ofStreamed, ofBuffered) {
      val streamed = points(1, if (ofStreamed) values ++ values else values.sorted)
      val buffered = points(1, if (ofBuffered) values.reverse else values.sorted)
      assert(scan(streamed, buffered).candidates == streamed.size)
      assert(groupsSorted == 0)
    }
  }

  test("of a group with more rows both sides are, and those around it are not") {
    val values = Random.shuffle((0L until 100L).toList)
    for ((ofStreamed, ofBuffered) <- Sides) withSides(ofStreamed, ofBuffered) {
      def side(shuffled: Boolean): Seq[Row] = Seq(1 -> 3, 2 -> 17, 3 -> 16, 4 -> 100, 5 -> 1)
        .flatMap { case (key, rows) =>
          val some = values.filter(_ < rows)
          points(key, if (shuffled) some else some.sorted)
        }
      val found = scan(side(ofStreamed), side(ofBuffered))
      assert(found.candidates == 3 + 17 + 16 + 100 + 1)
      // In a large group there are one or two rows in the window, once it is in order.
      assert(found.peakRows == 16)
      assert(groupsSorted == (if (ofStreamed && ofBuffered) 4 else 2))
    }
  }

  test("a streamed row that comes first once they are in order may match nothing") {
    withSides(streamed = true, buffered = true) {
      val values = (0L until 20L).reverse
      val streamed = Seq(Row(1, 5L, 5L), Row(1, null, 3L), Row(1, 2L, 2L), Row(2, 0L, 0L))
      val buffered = points(1, values) ++ points(2, Seq(0L))
      assert(scan(streamed, buffered).pairs.sorted == Seq(0 -> 14, 2 -> 17, 3 -> 20))
      assert(scanOuter(streamed, buffered).toSet ==
        Set(Some(0) -> Some(14), Some(1) -> None, Some(2) -> Some(17), Some(3) -> Some(20)))
    }
  }

  test("a key that only one side has is read once, and not put in order") {
    withSides(streamed = true, buffered = true) {
      val many = (0L until 100L).reverse
      val streamed = points(1, many) ++ points(3, Seq(1L))
      val buffered = points(2, many) ++ points(3, Seq(1L)) ++ points(4, many)
      assert(scan(streamed, buffered).candidates == 1)
      assert(groupsSorted == 0)
    }
  }

  test("rows that are in order by less than the keys come in order") {
    // By the first of two sort columns, but there are two keys.
    withSides(streamed = true, buffered = true) {
      assert(scan(points(1, Seq(2L, 1L)), points(1, Seq(2L, 1L))).candidates == 2)
      assert(groupsSorted == 0)
      val order = Seq(0, 1).map(i => SortOrder(BoundReference(i, Types(i), true), Ascending))
      val sorter = new GroupSorter(order, 1, Types.length, levelOfLarge = 1)
      val rows = sorter.sorted(iterator(points(1, Seq(2L, 1L))))
      assert(GatheringScanner.inAnyOrder(rows, keys = 2) == null)
      assert(rows.map(_.getLong(1)).toSeq == Seq(1L, 2L))
    }
  }
}
