// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import scala.PartialFunction.condOpt
import scala.annotation.tailrec

import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.{SparkPlan, WholeStageCodegenExec}

/** A node below the shuffle of one side of a join that may have to come after the shuffle of the other side. */
trait AwaitsOtherShuffle extends SparkPlan {

  /** Called when the join is prepared. */
  def showOtherShuffle(other: ShuffleExchangeExec): Unit
}

object AwaitsOtherShuffle {

  /** Shows each side of a join the shuffle of the other one. */
  def prepare(left: SparkPlan, right: SparkPlan): Unit =
    for (ofLeft <- shuffleOf(left); ofRight <- shuffleOf(right)) {
      below(ofLeft).foreach(_.showOtherShuffle(ofRight))
      below(ofRight).foreach(_.showOtherShuffle(ofLeft))
    }

  /** The shuffle of this side, and not that of a join further below. */
  @tailrec
  private def shuffleOf(side: SparkPlan): Option[ShuffleExchangeExec] = side match {
    case shuffle: ShuffleExchangeExec                        => Some(shuffle)
    case ReusedExchangeExec(_, shuffle: ShuffleExchangeExec) => Some(shuffle)
    case _: Exchange                                         => None
    case node if node.children.length == 1                   => shuffleOf(node.children.head)
    case _                                                   => None
  }

  private def below(shuffle: ShuffleExchangeExec): Option[AwaitsOtherShuffle] =
    condOpt(shuffle.child) {
      case node: AwaitsOtherShuffle                        => node
      case WholeStageCodegenExec(node: AwaitsOtherShuffle) => node
    }
}
