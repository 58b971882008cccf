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

import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.{SparkPlan, WholeStageCodegenExec}

/** A node of one side of a join that has to agree with one of the other side before either runs. */
trait PreparedInPairs extends SparkPlan {

  /** Called when the join is prepared, by the node of its left side. */
  def prepareWith(right: PreparedInPairs): Unit
}

/** A node below the shuffle of one side of a join that may have to run the shuffle of the other side first. */
trait BesideShuffle extends SparkPlan {

  /** Called when the join is prepared. */
  def prepareBeside(other: ShuffleExchangeExec): Unit
}

object PreparedInPairs {

  /** Has the nodes of both sides of a join agree, if there are any. */
  def prepare(left: SparkPlan, right: SparkPlan): Unit = {
    for (ofLeft <- of(left); ofRight <- of(right)) ofLeft.prepareWith(ofRight)
    for (ofLeft <- shuffleOf(left); ofRight <- shuffleOf(right)) {
      shuffled(ofLeft).foreach(_.prepareBeside(ofRight))
      shuffled(ofRight).foreach(_.prepareBeside(ofLeft))
    }
  }

  /** The node of this side, and not that of a join further below. */
  private def of(side: SparkPlan): Option[PreparedInPairs] =
    first(side) { case node: PreparedInPairs => node }

  private def shuffleOf(side: SparkPlan): Option[ShuffleExchangeExec] = first(side) {
    case shuffle: ShuffleExchangeExec                        => shuffle
    case ReusedExchangeExec(_, shuffle: ShuffleExchangeExec) => shuffle
  }

  /** The first node of a kind of this side, down to its exchange. */
  private def first[T](side: SparkPlan)(kind: PartialFunction[SparkPlan, T]): Option[T] =
    kind.lift(side).orElse(side match {
      case _: Exchange                       => None
      case node if node.children.length == 1 => first(node.children.head)(kind)
      case _                                 => None
    })

  private def shuffled(shuffle: ShuffleExchangeExec): Option[BesideShuffle] =
    shuffle.child match {
      case node: BesideShuffle                        => Some(node)
      case WholeStageCodegenExec(node: BesideShuffle) => Some(node)
      case _                                          => None
    }
}
