// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.DataType

/**
 * Where rows go. A row of the owner goes to one bucket, by its low end and its length: the number of
 * cells that lie between its low and its high end. A row of the other side goes to every bucket in which
 * there may be a match for it:
 *
 * {{{
 *   a match needs         low(owner) <= high   and   high(owner) >= low
 *   so in cells           cell(low(owner)) <= cell(high)
 *                         cell(low(owner)) >= cell(low) - length >= cell(low) - longest
 * }}}
 *
 * Exact for any boundaries: a cell never falls as the value rises. Whatever comes to lie in a bucket by
 * being near is refused by the join. `longest` must hold for every row: a row that is longer is an error.
 *
 * @param classOfLength by the number of bits of a length, the class; -1 where there is none
 * @param ids by bucket, its id: the value of the join key (see [[BucketIds]])
 */
final class BucketLayout(
    val cells: CellSearch,
    val classes: Array[LengthClass],
    classOfLength: Array[Int],
    ids: Array[Int]
) extends RowLayout {

  /** Whether no two buckets have the same id. */
  @transient lazy val hasDistinctIds: Boolean = ids.distinct.length == ids.length

  def numBuckets: Int = ids.length

  def numClasses: Int = classes.length

  /** The class of the rows of the owner that are points, if there are no others in it; else -1. */
  val classOfPoints: Int = classes.indexWhere(_.longest == 0)

  /** The buckets of a class. */
  def bucketsOfClass(index: Int): Range = {
    val lengthClass = classes(index)
    lengthClass.firstBucket to bucketAt(index, cells.size - 1)
  }

  /** The id of the bucket of a row that reaches from one cell to another one. */
  def ownerId(low: Int, high: Int): Int = ids(ownerBucket(low, high))

  def ownerBucket(low: Int, high: Int): Int = bucketAt(knownClassOf(math.max(0, high - low)), low)

  /**
   * The id of any bucket of a length, the same one for the same map task: for a row that wants all rows of the
   * other side.
   */
  def anyIdOfLength(length: Int, partition: Int): Int = {
    val buckets = bucketsOfClass(knownClassOf(length))
    ids(buckets(Math.floorMod(partition, buckets.size)))
  }

  private def knownClassOf(length: Int): Int = {
    val index = classOf(length)
    if (index < 0) throw BucketLayout.unexpectedLength()
    index
  }

  /** The class of a length; -1 where there is none, or none for rows as long. */
  private def classOf(length: Int): Int = {
    val index = classOfLength(BucketLayout.bitsOf(length))
    if (index >= 0 && length > classes(index).longest) -1 else index
  }

  private def bucketAt(index: Int, cell: Int): Int = {
    val lengthClass = classes(index)
    lengthClass.firstBucket + cell / lengthClass.width
  }

  /** The first bucket of a class where a row of the other side has to be. */
  def firstBucket(index: Int, low: Int): Int =
    bucketAt(index, math.max(0, low - classes(index).longest))

  /** The last one; before the first where the row can match nothing. */
  def lastBucket(index: Int, low: Int, high: Int): Int =
    if (high < low - classes(index).longest) -1 else bucketAt(index, high)

  def id(bucket: Int): Int = ids(bucket)

  /**
   * The same buckets, with owner rows where they were. Copies look back by these lengths, and skip
   * classes without rows.
   */
  def lookingBack(lengths: Lengths): BucketLayout = {
    val longest = classes.indices.map { index =>
      classOfLength.indices.filter(classOfLength(_) == index).map(lengths.longest(_)).max
    }
    val there = classes.indices.filter(longest(_) >= 0)
    new BucketLayout(
      cells,
      there.map(index => classes(index).copy(longest = longest(index))).toArray,
      classOfLength.map(there.indexOf(_)),
      ids)
  }

  /** Whether all rows of these lengths are found by their copies. */
  def covers(lengths: Lengths): Boolean = lengths.longest.forall { length =>
    length < 0 || classOf(length) >= 0
  }

  /** The buckets in which there may be rows of the owner. */
  def usedBuckets: Int =
    math.max(
      1,
      classes.map(lengthClass => (cells.size + lengthClass.width - 1) / lengthClass.width).sum)

  /** The same buckets by other ids, which need not differ from each other. */
  def withIds(other: Array[Int]): BucketLayout =
    new BucketLayout(cells, classes, classOfLength, other)

  override def bucketsOf(key: Int): BucketLayout = this

  override def anyId(row: InternalRow, partition: Int): Int = anyId(partition)

  /** Any bucket, the same one for the same map task. */
  def anyId(partition: Int): Int = ids(Math.floorMod(partition, ids.length))

  /**
   * Visits the ids of the buckets a row of the other side goes to; not all ids need differ.
   *
   * @param without a class to leave out, if any; else -1
   */
  def foreachCopy(low: Int, high: Int, without: Int = -1)(visit: Int => Unit): Unit = {
    var index = 0
    while (index < classes.length) {
      val last = if (index == without) -1 else lastBucket(index, low, high)
      var bucket = firstBucket(index, low)
      while (bucket <= last) {
        visit(ids(bucket))
        bucket += 1
      }
      index += 1
    }
  }

  /** The number of buckets a row of the other side goes to. */
  def copies(low: Int, high: Int): Int = classes.indices.map { index =>
    math.max(0, lastBucket(index, low, high) - firstBucket(index, low) + 1)
  }.sum
}

object BucketLayout {

  /** The number of bits of a length that is not negative: 0 for 0, 32 classes of powers of two. */
  def bitsOf(length: Int): Int = 32 - Integer.numberOfLeadingZeros(length)

  /** All rows in one bucket of this id. */
  def single(dataType: DataType, id: Int): BucketLayout = new BucketLayout(
    new CellSearch(dataType, Array.empty),
    Array(LengthClass(0, 1, 0)),
    Array.fill(33)(0), // whatever the length
    Array(id))

  def unexpectedLength(): Throwable = new SparkException(
    "Shuffled rows of a range join by buckets were lost, and one of them has a longer range after being read " +
      "again: the table has changed since, or its rows are not the same each time they are read. Run the query again.")
}
