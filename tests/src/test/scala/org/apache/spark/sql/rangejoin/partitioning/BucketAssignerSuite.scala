// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, UnsafeProjection}
import org.apache.spark.sql.rangejoin.skew.KeyedLayout
import org.apache.spark.sql.types.{IntegerType, LongType}

import org.scalatest.funsuite.AnyFunSuite

/** Where rows go, by a layout that splits one key: buckets to 10, to 20 and above, first and last in one place. */
class BucketAssignerSuite extends AnyFunSuite {

  private val output = Seq(
    AttributeReference("k", IntegerType)(),
    AttributeReference("low", LongType)(),
    AttributeReference("high", LongType)())

  /** Rows of the owner are points, those of the other side have both ends. */
  private def columns(isOwner: Boolean): KeyedColumns = {
    val high = if (isOwner) None else Some(1)
    val bounds = BoundColumns(Some(0), high, isLossless = true, LongType, mayBeUnknown = true)
    new KeyedColumns(output.take(1), output.slice(1, if (isOwner) 2 else 3), bounds, output)
  }

  private def row(k: Any, low: Any, high: Any = 0L): InternalRow =
    UnsafeProjection.create(output.map(_.dataType).toArray)(InternalRow(k, low, high)).copy()

  private val skewed = 7
  private val (firstOther, numOthers) = (2, 3)

  private val buckets = new BucketLayout(
    new CellSearch(LongType, Array(Position(10, null), Position(20, null))),
    Array(LengthClass(0, 1, 0)),
    Array.fill(33)(0),
    Array(0, 1, 0))

  private val layout: KeyedLayout = {
    val ofOwner = columns(isOwner = true)
    new KeyedLayout(
      Array(ofOwner.key(ofOwner.projection()(row(skewed, 0L)))),
      Array(buckets),
      BucketLayout.single(LongType, 0),
      firstOther,
      numOthers)
  }

  private def places(
      isOwner: Boolean,
      row: InternalRow,
      preservesOwner: Boolean = false,
      partition: Int = 0): Seq[Int] = {
    val assigned = new BucketAssigner(layout, columns(isOwner), isOwner, preservesOwner)
      .start(partition)
    Seq.tabulate(assigned.assign(row))(assigned.id)
  }

  test("a row of the owner has the place of its bucket, and others each place of a match once") {
    for ((point, place) <- Seq(5L -> 0, 10L -> 1, 15L -> 1, 20L -> 0, 99L -> 0))
      assert(places(isOwner = true, row(skewed, point)) == Seq(place), point)
    assert(places(isOwner = false, row(skewed, 1L, 9L)) == Seq(0))
    assert(places(isOwner = false, row(skewed, 11L, 20L)) == Seq(1, 0))
    assert(places(isOwner = false, row(skewed, 1L, 99L)) == Seq(0, 1))
    assert(places(isOwner = false, row(skewed, 30L, 2L)) == Nil, "a range that nothing is in")
  }

  test(
    "all rows of a key that is not split are in one place, and such keys in all places for them") {
    val found = for (key <- 20 to 60) yield {
      val all = Seq(1L, 15L, 99L).flatMap { point =>
        places(isOwner = true, row(key, point)) ++
          places(isOwner = false, row(key, point - 90, point + 90))
      }
      assert(all.size == 6 && all.distinct.size == 1, s"key $key: $all")
      all.head
    }
    assert(found.distinct.sorted == (firstOther until firstOther + numOthers))
  }

  test("a row with a NULL is dropped, or scattered and always to the same place if it is kept") {
    for (unmatchable <- Seq(row(null, 5L, 6L), row(skewed, null, null), row(20, null, null))) {
      assert(places(isOwner = false, unmatchable, preservesOwner = true) == Nil)
      assert(places(isOwner = true, unmatchable) == Nil)
    }
    def kept(i: Int, partition: Int) =
      places(isOwner = true, row(null, i.toLong), preservesOwner = true, partition)
    val all = for (i <- 0 until 100) yield {
      assert(kept(i, 3).size == 1 && kept(i, 3) == kept(i, 3))
      kept(i, 3).head
    }
    assert(all.distinct.sorted == (0 until firstOther + numOthers))
  }

  test("without keys all rows are of one") {
    val bounds = BoundColumns(Some(0), None, isLossless = true, LongType, mayBeUnknown = true)
    val columns = new KeyedColumns(Nil, output.slice(1, 2), bounds, output)
    val assigned =
      new BucketAssigner(buckets, columns, isOwner = true, preservesOwner = true).start(1)
    val points = Seq[(Any, Int)](5L -> 0, 15L -> 1, 99L -> 0, (null, 1))
    for (key <- Seq[Any](1, 2, null); (point, id) <- points) {
      assert(assigned.assign(row(key, point)) == 1)
      assert(assigned.id(0) == id, s"$key, $point")
    }
  }

  test("a row that wants all others at any distance goes to a bucket that all go to, by its task") {
    // Two buckets of points, and two of rows that reach over all cells.
    val twoClasses = new BucketLayout(
      new CellSearch(LongType, Array(Position(10, null), Position(20, null))),
      Array(LengthClass(0, 2, 0), LengthClass(2, 2, 2)),
      Array(0, -1, 1) ++ Array.fill(30)(-1),
      Array(5, 6, 7, 8)
    )
    val distance = Some(AnyDistance(greatest = Some(100)))
    def assigned(isOwner: Boolean, point: Long, partition: Int): Seq[Int] = {
      val bounds =
        BoundColumns(
          Some(0),
          if (isOwner) Some(1) else None,
          isLossless = true,
          LongType,
          mayBeUnknown = true,
          distance)
      val columns = new KeyedColumns(Nil, output.slice(1, if (isOwner) 3 else 2), bounds, output)
      val assignment =
        new BucketAssigner(twoClasses, columns, isOwner, preservesOwner = true).start(partition)
      Seq.tabulate(assignment.assign(row(1, point, point)))(assignment.id)
    }
    for ((point, id) <- Seq(5L -> 5, 15L -> 5, 25L -> 6, 68L -> 6); partition <- 0 to 2)
      assert(assigned(isOwner = true, point, partition) == Seq(id))
    // Its distances may be more than the greatest, or it is unknown.
    for (point <- Seq(69L, -30L, Long.MinValue); partition <- 0 to 2)
      assert(assigned(isOwner = true, point, partition) == Seq(7 + partition % 2))
    for (point <- Seq(5L, 25L, 69L, Long.MinValue))
      assert(assigned(isOwner = false, point, 0) == Seq(5, 6, 7, 8))
  }
}
