// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.hint

import org.apache.spark.sql.catalyst.plans.logical.{
  HintErrorHandler,
  HintInfo,
  Join,
  JoinHint,
  JoinStrategyHint,
  NO_BROADCAST_AND_REPLICATION,
  SHUFFLE_MERGE
}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.internal.SQLConf

/**
 * A `HintInfo` that also asks for a range join: what `RANGE_JOIN` becomes.
 *
 * As a `HintInfo` it survives wherever Spark's hints do: rules of the optimizer that build a join
 * anew hand on the hints of its sides, and leave joins with hints in the order they were written
 * in. If it is merged with another hint, the result asks for a range join, too.
 *
 * @param strategy what another hint on the same side asks for
 */
class RangeJoinHint(strategy: Option[JoinStrategyHint]) extends HintInfo(strategy) {

  override def copy(strategy: Option[JoinStrategyHint]): HintInfo = new RangeJoinHint(strategy)

  override def merge(other: HintInfo, hintErrorHandler: HintErrorHandler): HintInfo =
    new RangeJoinHint(super.merge(other, hintErrorHandler).strategy)

  override def canEqual(other: Any): Boolean = other.isInstanceOf[RangeJoinHint]

  override def equals(other: Any): Boolean = canEqual(other) && super.equals(other)

  override def hashCode: Int = 31 * super.hashCode + 1

  override def toString: String =
    ("range_join" +: strategy.map(s => s"strategy=$s").toSeq).mkString("(", ", ", ")")
}

object RangeJoinHint {

  /** The name of the hint, in upper case. */
  val Name = "RANGE_JOIN"

  /** The hint on one of the sides that asks for a range join. */
  def in(hint: JoinHint): Option[RangeJoinHint] =
    (hint.leftHint ++ hint.rightHint).collectFirst { case range: RangeJoinHint => range }

  /** The hints of a join by which Spark plans a sort-merge join, if it can. */
  def asMerge(hint: JoinHint): JoinHint = {
    def asMerge(side: Option[HintInfo]) = side match {
      case Some(HintInfo(Some(strategy))) if isKept(strategy) => side
      case _ => Some(side.getOrElse(HintInfo()).copy(strategy = Some(SHUFFLE_MERGE)))
    }
    JoinHint(asMerge(hint.leftHint), asMerge(hint.rightHint))
  }

  /** Warns that the hint of a join has no effect, and why, unless this join was warned of before. */
  def warn(join: Join, why: String): Unit =
    in(join.hint).foreach(hint => once(join)(_.joinHintNotSupported(hint, why)))

  /** Warns, likewise once, of what other hints on a join had asked for, and [[asMerge]] leaves out. */
  def warnOfOverridden(join: Join): Unit = once(join) { handler =>
    (join.hint.leftHint ++ join.hint.rightHint)
      .filter(_.strategy.exists(s => !isKept(s) && s.hintAliases.nonEmpty))
      .foreach(handler.hintOverridden)
  }

  /** Adaptive execution plans a join several times. */
  private def once(join: Join)(warn: HintErrorHandler => Unit): Unit =
    if (join.getTagValue(Warned).isEmpty) {
      join.setTagValue(Warned, ())
      warn(SQLConf.get.hintErrorHandler)
    }

  private val Warned = TreeNodeTag[Unit]("rangejoin.hintWarned")

  /** Whether results depend on the other hint, or it asks for the same join. */
  private def isKept(strategy: JoinStrategyHint): Boolean =
    strategy == SHUFFLE_MERGE || strategy == NO_BROADCAST_AND_REPLICATION
}
