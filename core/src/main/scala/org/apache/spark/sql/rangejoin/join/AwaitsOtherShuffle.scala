/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.join

import scala.annotation.tailrec

import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.{SparkPlan, WholeStageCodegenExec}

/** A node below the shuffle of one side of a join that may have to run the shuffle of the other side first. */
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
    shuffle.child match {
      case node: AwaitsOtherShuffle                        => Some(node)
      case WholeStageCodegenExec(node: AwaitsOtherShuffle) => Some(node)
      case _                                               => None
    }
}
