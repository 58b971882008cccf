// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.Arrays

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

/** Which buckets there are, of one key or of several; their ids say where rows go. */
trait RowLayout extends Serializable {

  /** The buckets of a key, by its hash. */
  def bucketsOf(key: Int): BucketLayout

  /**
   * Where a row goes that is kept and matches nothing: to the same place when it is read again.
   *
   * @param partition of the map task that reads it
   */
  def anyId(row: InternalRow, partition: Int): Int
}

/**
 * Rows of the owner of nearly the same length, in cells, which share their buckets.
 *
 * @param longest no row is longer; the other side looks back as far from its low end
 * @param width the number of cells of a bucket
 * @param firstBucket the first of its buckets; one follows for each further `width` cells
 */
case class LengthClass(longest: Int, width: Int, firstBucket: Int)

/**
 * The lengths of rows of an owner, in cells, by their number of bits.
 *
 * @param longest by number of bits, the longest length, -1 where there is none
 */
case class Lengths(longest: Array[Int]) {
  def merge(other: Lengths): Lengths =
    Lengths(longest.zip(other.longest).map { case (a, b) => math.max(a, b) })
}

object Lengths {
  val Empty: Lengths = Lengths(Array.fill(33)(-1))

  /** Of points. */
  val Zero: Lengths = Lengths(0 +: Array.fill(32)(-1))

  /** Not known: every row may be as long as there are cells. */
  val Unbounded: Lengths = Lengths(Array.fill(33)(Int.MaxValue))

  /** Takes in the lengths of rows, one after the other. */
  final class Builder extends Serializable {

    /** As of [[Lengths]]; tasks send this, which any serializer takes. */
    val longest: Array[Int] = Empty.longest.clone()

    def add(length: Int): Unit = {
      val bits = BucketLayout.bitsOf(length)
      longest(bits) = math.max(longest(bits), length)
    }

    def merge(other: Builder): Unit =
      for (bits <- longest.indices) longest(bits) = math.max(longest(bits), other.longest(bits))

    def clear(): Unit = Arrays.fill(longest, -1)
  }
}

/**
 * Numbers for buckets such that the hash partitioning of the shuffle deals them out evenly: bucket `i`
 * goes to partition `i` modulo the number of partitions.
 */
object BucketIds {
  import org.apache.spark.sql.catalyst.expressions.Murmur3HashFunction
  import org.apache.spark.sql.types.IntegerType

  private val Seed = 42L

  def partitionOf(id: Int, partitions: Int): Int =
    Math.floorMod(Murmur3HashFunction.hash(id, IntegerType, Seed).toInt, partitions)

  def apply(buckets: Int, partitions: Int): Array[Int] = {
    val ids = new Array[Int](buckets)
    val next = Array.tabulate(partitions)(identity) // the next bucket of each partition
    var (id, left) = (0, buckets)
    while (left > 0) {
      val partition = partitionOf(id, partitions)
      if (next(partition) < buckets) {
        ids(next(partition)) = id
        next(partition) += partitions
        left -= 1
      }
      id += 1
    }
    ids
  }
}
