// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.sql.rangejoin.reduce.RankMatchesExec

/**
 * Ranks matches as they come from a range join, where each streamed row is a partition by itself: it has a
 * number, by `monotonically_increasing_id()`. The window function of Spark would shuffle the pairs, if the
 * join has not, and sort them.
 *
 * Only for outer joins, which keep the rows that they stream: these are never copied to several tasks.
 *
 * Runs when range joins are in their places.
 */
object RankMatchesInPlace extends Rule[SparkPlan] {

  /** With more, copies of the matches of a row, which are held in memory, could be large. */
  private val MostRanks = 100

  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(RangeJoinConf.BestMatches)) plan
    else ReplaceWhereValid[WindowExec](plan)(inPlace)

  private def inPlace(window: WindowExec): Option[SparkPlan] =
    for {
      rank <- onlyRank(window)
      limit <- Some(window.child).collect { case l: WindowGroupLimitExec if isOf(l, window) => l }
      pairs = belowRanking(limit, window)
      join <- joinBelow(pairs)
      number <-
        window.partitionSpec.collectFirst {
          case a: Attribute if StreamedNumber.isOf(a, pairs, join) => a
        }
    } yield {
      val ranked = RankMatchesExec(number, window.orderSpec, limit.limit, rank, pairs)
      window.logicalLink.foreach(ranked.setLogicalLink)
      ranked
    }

  private def onlyRank(window: WindowExec): Option[Attribute] = window.windowExpression match {
    case Seq(alias @ Alias(WindowExpression(_: RowNumber, _), _)) => Some(alias.toAttribute)
    case _                                                        => None
  }

  private def isOf(limit: WindowGroupLimitExec, window: WindowExec): Boolean =
    limit.rankLikeFunction.isInstanceOf[RowNumber] && limit.limit <= MostRanks &&
      limit.partitionSpec == window.partitionSpec && limit.orderSpec == window.orderSpec

  /** Below what limits and gathers pairs for the window alone. */
  @tailrec
  private def belowRanking(plan: SparkPlan, window: WindowExec): SparkPlan = plan match {
    case limit: WindowGroupLimitExec if isOf(limit, window) => belowRanking(limit.child, window)
    case Gathering(child)                                   => belowRanking(child, window)
    case pairs                                              => pairs
  }

  private def joinBelow(plan: SparkPlan): Option[RangeJoinExec] = plan match {
    case ProjectExec(_, child) => joinBelow(child)
    case join: RangeJoinExec   =>
      val streamed = join.best.map(_.streamedSide(join.left.outputSet))
      Some(join).filter(j => streamed.exists(StreamedNumber.keeps(j, _)))
    case _ => None
  }
}
