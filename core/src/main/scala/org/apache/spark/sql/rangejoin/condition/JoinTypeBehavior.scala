// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}

/**
 * A join type as a value: all that the operator knows of it.
 *
 * | join type       | streamed | emission                | keeps streamed | keeps buffered |
 * |:----------------|:---------|:------------------------|:---------------|:---------------|
 * | INNER, CROSS    | either   | every pair              |                |                |
 * | LEFT OUTER      | left     | every pair              | yes            |                |
 * | RIGHT OUTER     | right    | every pair              | yes            |                |
 * | FULL OUTER      | either   | every pair              | yes            | yes            |
 * | LEFT SEMI       | left     | streamed row if matched |                |                |
 * | LEFT ANTI       | left     | streamed row if not     |                |                |
 * | existence       | left     | streamed row and a flag |                |                |
 *
 * Where a join has to stream the other side (the broadcast side is the one whose rows come out):
 *
 * | join type       | streamed | emission                | keeps streamed | keeps buffered |
 * |:----------------|:---------|:------------------------|:---------------|:---------------|
 * | LEFT OUTER      | right    | every pair              |                | yes            |
 * | RIGHT OUTER     | left     | every pair              |                | yes            |
 * | LEFT SEMI       | right    | buffered row if matched |                |                |
 * | LEFT ANTI       | right    | buffered row if not     |                |                |
 * | existence       | right    | buffered row and a flag |                |                |
 *
 * @param streamed the side that has to be streamed; None where the range decides
 * @param preservesStreamed whether a streamed row without a match is emitted, beside NULLs
 * @param preservesBuffered likewise for a buffered row
 */
case class JoinTypeBehavior(
    streamed: Option[Side],
    emission: Emission,
    preservesStreamed: Boolean = false,
    preservesBuffered: Boolean = false
) {

  /** Whether one match of a streamed row is all that is looked for. */
  val stopsAtMatch: Boolean = cond(emission) { case StreamedRow(_) | MatchFlag => true }

  /**
   * Whether every row that comes out has a streamed row in it, so that rows come out in the order of the streamed side.
   */
  def keepsStreamedOrder: Boolean = !preservesBuffered && (emission == EveryPair || stopsAtMatch)

  /** Whether the join has to remember which buffered rows have had a match. */
  def marksBuffered: Boolean = preservesBuffered || emission.isInstanceOf[AfterStreamed]

  /** Whether streamed rows without candidates are of any interest. */
  val visitsAllStreamed: Boolean =
    preservesStreamed || emission == MatchFlag || emission == StreamedRow(ifMatched = false)

  /**
   * Whether Spark's hash joins evaluate the keys of streamed rows, which may raise, even if the
   * other side has no row: in outer and existence joins.
   */
  def evaluatesKeysIfEmpty: Boolean = preservesStreamed || emission == MatchFlag
}

object JoinTypeBehavior {

  /**
   * The behavior of a join type where one side has to be streamed, whichever rows come out; None for one
   * that is left to stock Spark.
   */
  def of(joinType: JoinType, streamed: Side): Option[JoinTypeBehavior] =
    (joinType, streamed) match {
      case (LeftOuter, RightSide) | (RightOuter, LeftSide) =>
        Some(JoinTypeBehavior(Some(streamed), EveryPair, preservesBuffered = true))
      case (LeftSemi, RightSide) =>
        Some(JoinTypeBehavior(Some(streamed), BufferedRow(ifMatched = true)))
      case (LeftAnti, RightSide) =>
        Some(JoinTypeBehavior(Some(streamed), BufferedRow(ifMatched = false)))
      case (ExistenceJoin(_), RightSide) => Some(JoinTypeBehavior(Some(streamed), BufferedFlag))
      case _                             => of(joinType)
    }

  /** The behavior of a join type; None for one that is left to stock Spark. */
  def of(joinType: JoinType): Option[JoinTypeBehavior] = condOpt(joinType) {
    case _: InnerLike => JoinTypeBehavior(None, EveryPair)
    case LeftOuter    => JoinTypeBehavior(Some(LeftSide), EveryPair, preservesStreamed = true)
    case RightOuter   => JoinTypeBehavior(Some(RightSide), EveryPair, preservesStreamed = true)
    case FullOuter    =>
      JoinTypeBehavior(None, EveryPair, preservesStreamed = true, preservesBuffered = true)
    case LeftSemi         => JoinTypeBehavior(Some(LeftSide), StreamedRow(ifMatched = true))
    case LeftAnti         => JoinTypeBehavior(Some(LeftSide), StreamedRow(ifMatched = false))
    case ExistenceJoin(_) => JoinTypeBehavior(Some(LeftSide), MatchFlag)
  }
}

/** What a join gives for the pairs that match. */
sealed trait Emission

/** Every pair that matches, as one row. */
case object EveryPair extends Emission

/** The streamed row, once, if it has a match or if it has none; the scan ends at the first match. */
case class StreamedRow(ifMatched: Boolean) extends Emission

/** Every streamed row, with a flag that says whether it has a match; the scan ends at the first. */
case object MatchFlag extends Emission

/** Nothing for a streamed row: rows of the other side come out when all streamed rows have been seen. */
sealed trait AfterStreamed extends Emission {

  /** For who gives the rows that come of streamed rows. */
  def notOfStreamed: Nothing =
    throw new IllegalArgumentException(s"$this gives nothing for streamed rows")
}

/** The row of the other side, once, if any streamed row matches it or if none does. */
case class BufferedRow(ifMatched: Boolean) extends AfterStreamed

/** Every row of the other side, with a flag that says whether it has a match. */
case object BufferedFlag extends AfterStreamed

/** Which child of a join. */
sealed trait Side {
  def other: Side = if (this == LeftSide) RightSide else LeftSide

  def of(join: Join): LogicalPlan = of(join.left, join.right)

  /** What is of this side. */
  def of[T](left: T, right: T): T = if (this == LeftSide) left else right
}

object Side {
  val Both: Seq[Side] = Seq(LeftSide, RightSide)
}

case object LeftSide extends Side

case object RightSide extends Side
