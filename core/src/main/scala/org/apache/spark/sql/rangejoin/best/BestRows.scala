// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import java.lang.{Long => JLong}
import java.util.{ArrayList, Comparator, TreeMap}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.condition.Rounding
import org.apache.spark.sql.rangejoin.kernel.OrderedLong
import org.apache.spark.sql.rangejoin.shims.JavaCollections.Converters._

/**
 * The best of the rows that were added, by their bounds: as many as an order asks for, and those behind them that may
 * be as good by what they are ranked by.
 */
private[rangejoin] final class BestRows(order: BestOrder, ties: NearTies) {
  private type Rows = ArrayList[UnsafeRow]

  private val comparator: Comparator[JLong] =
    if (order.descending) Comparator.reverseOrder[JLong]() else Comparator.naturalOrder[JLong]()
  // Rows of the same bound together, the best first.
  private val groups = new TreeMap[JLong, Rows](comparator)
  private var size = 0
  // With such rows, the bound of the last rank that is wanted, once there are as many.
  private var boundOfLimit = 0L

  /** Whether a row of this bound would be kept. */
  def isWanted(bound: Long): Boolean = ranks < order.limit || {
    if (ties.areThere) !isFarBehind(bound)
    else {
      val toWorst = comparator.compare(bound, groups.lastKey)
      toWorst < 0 || order.keepsTies && toWorst == 0
    }
  }

  private def isFarBehind(bound: Long): Boolean =
    comparator.compare(bound, boundOfLimit) > 0 && ties.isBeyond(bound, boundOfLimit)

  private def ranks: Int = if (order.countsTies) size else groups.size

  /** Adds a row, and drops those that are no longer wanted; returns by how many bytes there are more. */
  def add(bound: Long, row: UnsafeRow): Long = {
    groups.computeIfAbsent(bound, _ => new Rows).add(row)
    size += 1
    row.getSizeInBytes - (if (ties.areThere) dropFarBehind() else dropUnwanted())
  }

  private def dropFarBehind(): Long = {
    var dropped = 0L
    if (ranks >= order.limit) {
      val inOrder = groups.entrySet.iterator
      var ranksLeft = order.limit
      while (ranksLeft > 0) {
        val group = inOrder.next()
        boundOfLimit = group.getKey
        ranksLeft -= (if (order.countsTies) group.getValue.size else 1)
      }
      while (isFarBehind(groups.lastKey)) dropped += dropLast()
    }
    dropped
  }

  private def dropLast(): Long = {
    val rows = groups.pollLastEntry().getValue
    size -= rows.size
    rows.asScala.map(_.getSizeInBytes.toLong).sum
  }

  private def dropUnwanted(): Long = {
    val worst = groups.lastEntry().getValue
    if (ranks - (if (order.countsTies) worst.size else 1) >= order.limit) {
      dropLast()
    } else if (!order.keepsTies && size > order.limit) {
      size -= 1
      worst.remove(worst.size - 1).getSizeInBytes
    } else 0L
  }

  /** Adds all rows of another one of the same order. */
  def addAll(other: BestRows): Unit =
    for ((bound, rows) <- other.groups.asScala; row <- rows.asScala)
      if (isWanted(bound)) add(bound, row)

  def rows: Iterator[UnsafeRow] = groups.values.iterator.asScala.flatMap(_.iterator.asScala)
}

/**
 * Which rows behind the last one wanted may still be as near to a point, by what they are ranked by: distances are
 * rounded, or off by a slack.
 *
 * Two numbers that have one rounded distance from a point differ by no more than the place of its last digit. The
 * greatest place is that of the longest distance.
 *
 * @param farthest how far from 0 a point is at most, where distances are rounded
 */
private[rangejoin] final class NearTies(order: BestOrder, farthest: Rounding => Double) {
  private[this] val rounding =
    order.rankPoint.flatMap(_.distance.rounding).filter(_ => order.keepsTies).orNull
  private[this] val most = if (rounding == null) 0.0 else farthest(rounding)

  /** Whether there may be such rows at all. */
  val areThere: Boolean = order.slack > 0 || rounding != null

  /** Whether a row that is behind the last one wanted is farther from any point. */
  def isBeyond(bound: Long, last: Long): Boolean =
    if (rounding == null) order.isBeyondSlack(bound, last)
    else isFarther(OrderedLong.toDouble(bound), OrderedLong.toDouble(last))

  private def isFarther(number: Double, last: Double): Boolean =
    // Two that are not finite have the same distance, or are in the order of their bounds.
    if (!isFinite(number)) isFinite(last) && isFinite(rounding.lastPlace(most + math.abs(last)))
    else math.abs(number - last) > 2 * rounding.lastPlace(most + math.abs(number))

  private def isFinite(number: Double): Boolean = math.abs(number) < Double.PositiveInfinity
}
