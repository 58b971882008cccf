// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.lang.{Long => JLong}
import java.util.HashMap

import scala.PartialFunction.cond

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.best.{BestMatches, BestOrder, BestRows, NearTies}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.sql.rangejoin.shims.JavaCollections.Converters._

/**
 * Copies rows of the other side to buckets where each row of the owner wants its best matches alone, in a range
 * without an end: all rows of earlier buckets match it, but no more than the best of them are wanted.
 *
 * {{{
 *   bucket                0           1            2             3
 *   rows                  a b c       d e          f g h         i
 *   copies, r.t <= l.t    -           c            e             h         of the greatest
 *   copies, nearest       d           c f          e i           h         and of the least
 * }}}
 *
 * So a row goes to its own bucket as it is read, and in the end each bucket gets the best rows of the buckets before
 * it, or behind it, or both. They are those of one map task and one key: a bucket has as many copies of a key as there
 * are tasks and ranks.
 *
 * Rows with an unknown position go to all buckets. Wanted rows that arrive once the memory limit is reached go to all
 * buckets in which they may have matches. Rows of the owner that are no points want all rows that match them.
 */
final class BestCopies(layout: RowLayout, columns: KeyedColumns, order: BestOrder)
    extends RowAssignment {
  import BestCopies._

  private val project = columns.projection()
  // Keys that share a hash share the buckets, but not the best rows. Keys that are equal and have other bytes may
  // count as two: then there are more copies.
  private val projectKey = columns.keyProjection()
  private val copyOf = columns.copying()
  private val cells = new RowCells(columns.bounds, isOwner = false)
  private val directions = directionsOf(columns.bounds, order)
  private val boundAt = columns.bounds.all.head
  private val keys = new HashMap[UnsafeRow, BestOfKey]
  private var bytes = 0L

  override protected def find(row: InternalRow): Unit = {
    val columnsOfRow = project(row)
    if (!columns.hasNull(columnsOfRow)) {
      val buckets = layout.bucketsOf(columns.key(columnsOfRow))
      cells.find(buckets.cells, columnsOfRow)
      val points = buckets.classOfPoints
      val isLater = points >= 0 && reachesOthers(buckets, points) &&
        isSentLater(row, buckets, ownBucket(buckets, points), columnsOfRow.getLong(boundAt))
      if (isLater) add(buckets.id(ownBucket(buckets, points)))
      addCopies(buckets, cells, without = if (isLater) points else -1)
    }
  }

  /** Whether it is known which bucket of the points a row is in, and it has matches in others. */
  private def reachesOthers(buckets: BucketLayout, points: Int): Boolean =
    cells.own >= 0 && buckets.hasDistinctIds &&
      buckets.firstBucket(points, cells.first) < buckets.lastBucket(points, cells.first, cells.last)

  private def ownBucket(buckets: BucketLayout, points: Int): Int =
    buckets.firstBucket(points, cells.own)

  /**
   * Whether other buckets will be served at the end of the task: the row is kept for them, or is not wanted there.
   *
   * @param own the bucket that the row is in
   */
  private def isSentLater(
      row: InternalRow,
      buckets: BucketLayout,
      own: Int,
      bound: Long): Boolean = {
    val key = projectKey(row)
    val known = keys.get(key)
    if (known != null && !known.isWanted(own, bound)) true
    else if (bytes >= MostBytes) false
    else {
      val ofKey = if (known == null) begin(key, buckets) else known
      bytes += ofKey.keep(own, bound, copyOf(row))
      true
    }
  }

  private def begin(key: UnsafeRow, buckets: BucketLayout): BestOfKey = {
    val ofKey = new BestOfKey(buckets)
    keys.put(key.copy(), ofKey)
    bytes += key.getSizeInBytes + JLong.BYTES * buckets.numBuckets * directions.size
    ofKey
  }

  override def rest: Iterator[(Int, InternalRow)] = keys.values.iterator.asScala.flatMap(_.copies)

  /** The best rows of a key. */
  private final class BestOfKey(buckets: BucketLayout) {
    private val nearTies = new NearTies(order, AnyDistance.farthest(buckets.cells, _))
    private val toEither = directions.map(new BestOfBuckets(buckets, _, nearTies)).toArray

    def isWanted(bucket: Int, bound: Long): Boolean = toEither.exists(_.isWanted(bucket, bound))

    /** Keeps a row that is wanted; returns by how many bytes there are more. */
    def keep(bucket: Int, bound: Long, row: UnsafeRow): Long =
      toEither.iterator.filter(_.isWanted(bucket, bound)).map(_.keep(bucket, bound, row)).sum

    /** By id of a bucket, the best rows of others. */
    def copies: Iterator[(Int, UnsafeRow)] = toEither.iterator.flatMap(_.copies)
  }
}

object BestCopies {

  /**
   * Copies to one side of the bucket that a row is in.
   *
   * @param toLater whether they go to later buckets; else to earlier ones
   * @param order of the rows that are best there
   */
  private case class Direction(toLater: Boolean, order: BestOrder)

  private def directionsOf(bounds: BoundColumns, order: BestOrder): Seq[Direction] =
    if (bounds.distance.isDefined) {
      Seq(true, false).map(toLater => Direction(toLater, order.copy(descending = toLater)))
    } else {
      // A range with a low end reaches to the last bucket; with a high end to the first.
      Seq(Direction(toLater = bounds.low.isDefined, order))
    }

  /** By bucket, the rows of it that are best in the buckets of a direction. */
  private final class BestOfBuckets(
      buckets: BucketLayout,
      direction: Direction,
      nearTies: NearTies) {
    private val kept = new Array[BestRows](buckets.numBuckets)

    def isWanted(bucket: Int, bound: Long): Boolean =
      kept(bucket) == null || kept(bucket).isWanted(bound)

    def keep(bucket: Int, bound: Long, row: UnsafeRow): Long = {
      if (kept(bucket) == null) kept(bucket) = new BestRows(direction.order, nearTies)
      kept(bucket).add(bound, row)
    }

    /** By id of a bucket, the best rows of those before it in the direction. */
    def copies: Iterator[(Int, UnsafeRow)] = {
      val best = new BestRows(direction.order, nearTies)
      val ofPoints = buckets.bucketsOfClass(buckets.classOfPoints)
      val inOrder = if (direction.toLater) ofPoints else ofPoints.reverse
      inOrder.iterator.flatMap { bucket =>
        val copies = best.rows.toArray
        if (kept(bucket) != null) best.addAll(kept(bucket))
        copies.iterator.map(buckets.id(bucket) -> _)
      }
    }
  }

  /** Limit to the bytes of the rows that a task keeps: rows may be wide, and ranks many. */
  private val MostBytes = 4L << 20

  /** Rows may be wider than their types say. */
  private val Slack = 4

  /** The side of a join whose rows want their best matches alone, and the order by which these are known. */
  def wanted(join: RangeJoinExec): Option[(Side, BestOrder)] = for {
    best <- join.best
    range <- join.normalForm.toOption
    order <- orderOf(range, best, join.streamedPlan.outputSet)
  } yield (range.streamed, order)

  /**
   * The order of the best rows, if each row of the owner matches all rows of the earlier buckets, or of the later ones,
   * or of both; else None. A residual may therefore read the streamed row alone: it accepts either all rows of another
   * bucket or none.
   *
   * @param streamed the columns of the streamed side
   */
  def orderOf(
      range: RangeCondition,
      best: BestMatches,
      streamed: AttributeSet): Option[BestOrder] =
    BestOrder.of(range, best).filter { order =>
      (range.sortBound ++ range.evictBound).forall(_.isLossless) &&
      (if (range.isOpen) isOfBounds(order) else isOneSided(range, order)) &&
      range.residual.toSeq.flatMap(Predicates.split).forall(e =>
        e.references.subsetOf(streamed) || isOfOwnBucket(e, range, best))
    }

  /**
   * Whether a condition (`x <> point`) only excludes rows equal to the point, which share its bucket.
   */
  private def isOfOwnBucket(e: Expression, range: RangeCondition, best: BestMatches): Boolean =
    cond(e) {
      case Not(EqualTo(a, b)) =>
        range.isOpen && best.point.exists { point =>
          Seq(a -> b, b -> a).exists { case (x, y) =>
            Predicates.haveSameValue(x, point) && Predicates.haveSameValue(y, best.order.child)
          }
        }
    }

  private def isOneSided(range: RangeCondition, order: BestOrder): Boolean =
    range.isOneSided && order.rankPoint.isEmpty &&
      (range.upperTest ++ range.lowerTest).forall(PartitionedRange.isKnown(_, range.streamed))

  /**
   * Whether the nearest rows have the nearest bounds, give or take a few. Not for a rounded distance with
   * `dense_rank()`: any number of different bounds may share one rank.
   */
  private def isOfBounds(order: BestOrder): Boolean = order.rankPoint.exists { rankPoint =>
    rankPoint.distance.nearest &&
    (rankPoint.distance.rounding.isEmpty || !order.keepsTies || order.countsTies)
  }

  /**
   * Whether the best rows of this many buckets are sure to fit in memory, so that buckets need not be widened to limit
   * copies.
   *
   * @param output what rows consist of
   * @param ties how many rows have the same bound, as far as is known
   */
  def fit(
      order: BestOrder,
      buckets: Long,
      output: Seq[Attribute],
      ties: => Double = Double.PositiveInfinity): Boolean = {
    val rowBytes = output.map(_.dataType.defaultSize.toLong).sum
    val ranks = order.limit.toLong * (if (order.nearest) 2 else 1)
    order.slack == 0 &&
    ranks * buckets * rowBytes * Slack * (if (order.keepsTies) ties else 1.0) <= MostBytes
  }
}
