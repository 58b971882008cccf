// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.plans._

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
  def stopsAtMatch: Boolean = emission match {
    case StreamedRow(_) | MatchFlag => true
    case _                          => false
  }

  /**
   * Whether every row that comes out has a streamed row in it, so that rows come out in the order of the streamed side.
   */
  def keepsStreamedOrder: Boolean = !preservesBuffered && (emission match {
    case EveryPair | StreamedRow(_) | MatchFlag => true
    case _                                      => false
  })

  /** Whether the join has to remember which buffered rows have had a match. */
  def marksBuffered: Boolean = preservesBuffered || emission.isInstanceOf[AfterStreamed]

  /** Whether streamed rows without candidates are of any interest. */
  def visitsAllStreamed: Boolean = preservesStreamed || (emission match {
    case StreamedRow(ifMatched) => !ifMatched
    case MatchFlag              => true
    case _                      => false
  })

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
  def of(joinType: JoinType): Option[JoinTypeBehavior] = Option(joinType).collect {
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
