// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.types.DataType

/**
 * Decides on cells and buckets, from samples of both sides. All of it is a matter of speed alone, if either every
 * length has a class, or the lengths are those of all rows.
 *
 * Boundaries are quantiles of the rows of both sides together, so that a bucket has about as many rows as any
 * other however both sides are distributed. Buckets are made wider until the copies are no more than the
 * rows of both sides and of the result.
 *
 * @param buckets how many buckets to make, if copies allow
 * @param isForced whether to make as many at any price
 */
final class LayoutPlanner(
    dataType: DataType,
    owner: SideSample,
    copied: SideSample,
    buckets: Int,
    isForced: Boolean
) {
  import LayoutPlanner._

  private val ordering = Position.ordering(dataType)
  private val isPoint = owner.high.isEmpty

  /** Cells of a bucket: lengths are measured in cells, and have to be short beside a bucket. */
  private val cellsPerBucket = if (isPoint || buckets == 1) 1 else CellsPerBucket

  lazy val cells: CellSearch = {
    val wanted = math.min(buckets.toLong * cellsPerBucket, MostCells).toInt
    val all = owner.positions.zip(owner.weight) ++ copied.positions.zip(copied.weight)
    new CellSearch(dataType, quantiles(all.filter(_._1.isKnown), wanted))
  }

  private def quantiles(weighted: Array[(Position, Double)], parts: Int): Array[Position] = {
    val sorted = weighted.sortBy(_._1)(ordering)
    // A little less, so that rounding of the summed weights does not push a boundary one row further.
    val step = sorted.map(_._2).sum / parts * (1 - 1e-9)
    val boundaries = Array.newBuilder[Position]
    var passed = 0.0
    var next = step
    var last: Position = null
    for ((position, weight) <- sorted) {
      if (passed >= next && (last == null || ordering.lt(last, position))) {
        boundaries += position
        last = position
        while (next <= passed) next += step
      }
      passed += weight
    }
    boundaries.result()
  }

  /** By row of the sample of the other side: its first cell and its last. */
  private lazy val copiedCells = cellsOf(copied, withoutHigh = _ => cells.size - 1)

  /** By row of the sample of the owner, likewise. */
  private lazy val ownerCells = cellsOf(owner, withoutHigh = identity)

  private def cellsOf(side: SideSample, withoutHigh: Int => Int): (Array[Int], Array[Int]) = {
    val first = side.low.fold(Array.fill(side.weight.length)(0))(_.map(cells.cell(_)))
    (first, side.high.fold(first.map(withoutHigh))(_.map(cells.cell(_))))
  }

  /**
   * By number of bits of the length, how many rows of the owner's sample have it, and the longest
   * of them.
   */
  private lazy val (sampledRows, sampled): (Array[Int], Lengths) = {
    val (rows, lengths) = (new Array[Int](33), new Lengths.Builder)
    for ((start, end) <- ownerCells._1.zip(ownerCells._2)) {
      val length = math.max(0, end - start)
      rows(BucketLayout.bitsOf(length)) += 1
      lengths.add(length)
    }
    (rows, Lengths(lengths.longest))
  }

  /** The layout, given the lengths of all rows of the owner. */
  def layout(lengths: Lengths, partitions: Int): BucketLayout =
    narrowest(identity)(width => layoutOf(known(lengths, width), partitions))

  /**
   * The layout if only the sample's lengths are known. Every possible length has a class. Once
   * lengths are counted, copies skip the classes without rows ([[BucketLayout.lookingBack]]).
   */
  def layoutForAnyLengths(partitions: Int): BucketLayout =
    narrowest(expected)(width => layoutOf(possible(width), partitions))

  /** An open layout, if there are no other lengths than those of the sample. */
  def expected(open: BucketLayout): BucketLayout = open.lookingBack(sampled)

  /**
   * The layout with the narrowest buckets that do not take too many copies.
   *
   * @param used what copies are made for
   */
  private def narrowest(used: BucketLayout => BucketLayout)(
      layoutOf: Int => BucketLayout): BucketLayout = {
    val layouts = Iterator.iterate(cellsPerBucket)(_ * 2).map(width => width -> layoutOf(width))
    if (isForced) layouts.next()._2
    else {
      val rows = owner.rows + copied.rows
      // Pairs need not be rows of the result: a join may stop at the first match, or refuse most.
      val most = Slack * (rows + math.min(pairs, MostPairs * rows))
      layouts.find { case (width, l) => width >= cells.size || copies(used(l)) <= most }.get._2
    }
  }

  /** Numbers of bits that make a class, and what is to be known of the class. */
  private case class Group(bits: Seq[Int], longest: Int, width: Int)

  private def layoutOf(groups: Seq[Group], partitions: Int): BucketLayout = {
    // Without any row of the owner there still is a bucket.
    val made = if (groups.isEmpty) Seq(Group(Nil, 0, cells.size)) else groups
    val firsts = made.map(g => (cells.size + g.width - 1) / g.width).scanLeft(0)(_ + _)
    val classes = made.zip(firsts).map { case (g, first) => LengthClass(g.longest, g.width, first) }
    val classOfLength = Array.fill(33)(-1)
    for ((group, number) <- made.zipWithIndex; bits <- group.bits) classOfLength(bits) = number
    new BucketLayout(cells, classes.toArray, classOfLength, BucketIds(firsts.last, partitions))
  }

  /** Classes of the lengths that there are. */
  private def known(ofRows: Lengths, width: Int): Seq[Group] = {
    // The counted lengths may lack a length of the sample: a row that wants all others ([[AnyDistance]]) is counted as
    // longer than its sampled length.
    val lengths = if (ofRows.eq(Lengths.Unbounded)) ofRows else ofRows.merge(sampled)
    val present = lengths.longest.indices.filter(lengths.longest(_) >= 0)
    if (lengths.eq(Lengths.Unbounded)) Seq(Group(present, cells.size, width))
    else {
      grouped(present, lengths.longest(_), width).map { bits =>
        val longest = math.min(bits.map(lengths.longest(_)).max, cells.size)
        val isLong = longest > width / ShortPart
        Group(bits, longest, if (isLong) math.max(width, longest / MostLookedBack + 1) else width)
      }
    }
  }

  /** Classes of all lengths that there may be. */
  private def possible(width: Int): Seq[Group] = {
    def most(bits: Int) = math.min((1 << bits) - 1, cells.size - 1)
    def likely(bits: Int) = if (sampledRows(bits) > 0) sampled.longest(bits) else most(bits)
    grouped(0 to BucketLayout.bitsOf(cells.size - 1), likely, width).map { bits =>
      val longest = most(bits.max)
      val rows = bits.map(sampledRows(_)).sum
      val wide =
        if (bits.map(likely).max <= width / ShortPart) width
        // Few rows, if any, are this long: their class must not cause many copies.
        else if (rows == 0) longest
        else if (rows < SureRows) longest / MostLookedBack + 1
        else bits.map(sampled.longest(_)).max / MostLookedBack + 1
      Group(bits, longest, math.max(width, wide))
    }
  }

  /** Numbers of bits that make a class: short beside a bucket, and then two by two. */
  private def grouped(present: Seq[Int], longest: Int => Int, width: Int): Seq[Seq[Int]] = {
    val (short, long) = present.partition(longest(_) <= width / ShortPart)
    (short +: long.groupBy(_ / 2).toSeq.sortBy(_._1).map(_._2)).filter(_.nonEmpty)
  }

  /** How many rows of the other side there are in all buckets; some of them may be in each. */
  def copies(layout: BucketLayout): Double = {
    val (low, high) = copiedCells
    low.indices.map(i => layout.copies(low(i), high(i)) * copied.weight(i)).sum +
      copied.others * layout.usedBuckets
  }

  /** The rows of the largest bucket, of both sides. */
  def largest(layout: BucketLayout): Double = loads(layout).max

  /** By bucket, its rows of both sides. */
  def loads(layout: BucketLayout): Array[Double] = {
    // By bucket, how much more load it has than the one before.
    val steps = new Array[Double](layout.numBuckets + 1)
    def add(first: Int, last: Int, weight: Double): Unit = if (first <= last) {
      steps(first) += weight
      steps(last + 1) -= weight
    }
    val (starts, ends) = ownerCells
    for (i <- starts.indices) {
      val bucket = layout.ownerBucket(starts(i), ends(i))
      add(bucket, bucket, owner.weight(i))
    }
    val (low, high) = copiedCells
    for (i <- low.indices; lengthClass <- layout.classes.indices) {
      add(
        layout.firstBucket(lengthClass, low(i)),
        layout.lastBucket(lengthClass, low(i), high(i)),
        copied.weight(i))
    }
    steps.iterator.scanLeft(0.0)(_ + _).slice(1, layout.numBuckets + 1).toArray
  }

  private lazy val pairs: Double = PairCount(owner, copied, ordering)

  /**
   * How many times fewer pairs there are in `other`, within the buckets, than in the range of the buckets.
   *
   * @param ofOwner the rows of the owner's sample, by their bounds in `other`
   * @param ofCopied the rows of the copied side's sample, likewise
   */
  def timesFewer(
      layout: BucketLayout,
      other: PartitionedRange,
      ofOwner: SideSample,
      ofCopied: SideSample): Double = {
    val (starts, ends) = ownerCells
    val (low, high) = copiedCells
    def some(all: Array[Int]) = all.indices.by(all.length / MostCompared + 1)
    val (owners, others) = (some(starts), some(low))
    val byBucket = owners.filter(ofOwner.isKnown)
      .groupBy(i => layout.ownerBucket(starts(i), ends(i)))
    val copies = for {
      i <- others.filter(ofCopied.isKnown)
      lengthClass <- layout.classes.indices
      bucket <-
        layout.firstBucket(lengthClass, low(i)) to layout.lastBucket(lengthClass, low(i), high(i))
    } yield bucket -> i
    val positions = Position.ordering(other.dataType)
    val within = copies.groupBy(_._1).map { case (bucket, rows) =>
      byBucket.get(bucket).fold(0.0) { rowsOfOwner =>
        PairCount(ofOwner.of(rowsOfOwner), ofCopied.of(rows.map(_._2)), positions)
      }
    }.sum
    PairCount(owner.of(owners), copied.of(others), ordering) / within
  }
}

object LayoutPlanner {

  /** A class of lengths up to this part of a bucket adds as much to the copies of a row. */
  private val ShortPart = 8

  private val CellsPerBucket = 32

  private val MostCells = 1L << 18

  /** In a class of longer rows, a copied row looks back by this many buckets. */
  private val MostLookedBack = 3

  /** From this number of rows on, a sample shows how long the rows of a class are. */
  private val SureRows = 20

  /** At most this many pairs per input row count as rows of the result. */
  private val MostPairs = 10

  /** Rows of each side, to compare ranges. */
  private val MostCompared = 20000

  /** Samples are no more exact than that. */
  private val Slack = 1.1
}

/** How many pairs are in a range, by samples of both sides. */
private[rangejoin] object PairCount {

  /** The weight of the pairs of two samples whose positions meet. */
  def apply(owner: SideSample, copied: SideSample, ordering: Ordering[Position]): Double = {
    val starts = new Cumulated(owner.positions, owner.weight, ordering)
    val ends = owner.high.fold(starts)(new Cumulated(_, owner.weight, ordering))
    copied.weight.indices.map { i =>
      val begun = copied.high.fold(starts.total)(high => starts.upTo(high(i)))
      val ended = copied.low.fold(0.0)(low => ends.before(low(i)))
      math.max(0.0, begun - ended) * copied.weight(i)
    }.sum
  }

  /** Sums of weights by position. */
  private class Cumulated(
      positions: Array[Position],
      weights: Array[Double],
      ordering: Ordering[Position]) {
    private val order = positions.indices.toArray.sortBy(positions(_))(ordering)
    private val sums = order.scanLeft(0.0)((sum, i) => sum + weights(i))

    def total: Double = sums.last

    def upTo(position: Position): Double = sums(count(ordering.lteq(_, position)))

    def before(position: Position): Double = sums(count(ordering.lt(_, position)))

    private def count(holds: Position => Boolean): Int = {
      var (low, high) = (0, order.length)
      while (low < high) {
        val middle = (low + high) >>> 1
        if (holds(positions(order(middle)))) low = middle + 1 else high = middle
      }
      low
    }
  }
}
