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

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.plans.{LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{
  ENSURE_REQUIREMENTS,
  ShuffleExchangeLike,
  ValidateRequirements
}
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.execution.{
  FilterExec,
  InputAdapter,
  ProjectExec,
  SortExec,
  SparkPlan,
  UnaryExecNode,
  WholeStageCodegenExec
}
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RightSide}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, RangeJoinExec}
import org.apache.spark.sql.rangejoin.partitioning.RangeBucketExec
import org.apache.spark.sql.rangejoin.reduce.RankMatchesExec
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

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
    else windows(plan).indices.foldRight(plan)((index, placed) => replaced(placed, index))

  private def windows(plan: SparkPlan): Seq[WindowExec] = plan.collect { case w: WindowExec => w }

  /** The plan without a window, unless an operator above needs its shuffle or its order. */
  private def replaced(plan: SparkPlan, index: Int): SparkPlan = {
    val window = windows(plan)(index)
    inPlace(window).map(ranked => plan.transformUp { case w if w.eq(window) => ranked })
      .filter(ValidateRequirements.validate)
      .getOrElse(plan)
  }

  private def inPlace(window: WindowExec): Option[SparkPlan] =
    for {
      rank <- onlyRank(window)
      limit <- Some(window.child).collect { case l: WindowGroupLimitExec if isOf(l, window) => l }
      pairs = belowRanking(limit, window)
      join <- joinBelow(pairs)
      number <-
        window.partitionSpec.collectFirst { case a: Attribute if isNumber(a, pairs, join) => a }
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

  /** A sort or a shuffle for the ranking alone. */
  private object Gathering {
    def unapply(plan: SparkPlan): Option[SparkPlan] = plan match {
      case SortExec(_, false, child, _) => Some(child)
      case shuffle: ShuffleExchangeLike if shuffle.shuffleOrigin == ENSURE_REQUIREMENTS =>
        Some(shuffle.child)
      case _ => None
    }
  }

  private def joinBelow(plan: SparkPlan): Option[RangeJoinExec] = plan match {
    case ProjectExec(_, child) => joinBelow(child)
    case join: RangeJoinExec   => Some(join).filter(keepsStreamed)
    case _                     => None
  }

  private def keepsStreamed(join: RangeJoinExec): Boolean =
    join.best.map(_.streamedSide(join.left.outputSet)).exists {
      case LeftSide  => join.joinType == LeftOuter
      case RightSide => join.joinType == RightOuter
    }

  /** Whether a column of the pairs is a number that each row of the streamed side has for itself. */
  @tailrec
  private def isNumber(column: Attribute, pairs: SparkPlan, join: RangeJoinExec): Boolean =
    pairs match {
      case ProjectExec(columns, child) =>
        definitionOf(column, columns) match {
          case Some(below: Attribute) => isNumber(below, child, join)
          case _                      => false
        }
      case _ => isNumber(column, join.streamedPlan)
    }

  @tailrec
  private def isNumber(column: Attribute, plan: SparkPlan): Boolean = plan match {
    case ProjectExec(columns, child) =>
      definitionOf(column, columns) match {
        case Some(MonotonicallyIncreasingID()) => true
        case Some(below: Attribute)            => isNumber(below, child)
        case _                                 => false
      }
    case FilterExec(_, child)         => isNumber(column, child)
    case SortExec(_, _, child, _)     => isNumber(column, child)
    case RangeSortExec(_, child)      => isNumber(column, child)
    case CodegenBoundaryExec(child)   => isNumber(column, child)
    case bucket: RangeBucketExec      => isNumber(column, bucket.child)
    case shuffle: ShuffleExchangeLike => isNumber(column, shuffle.child)
    case stage: QueryStageExec        => isNumber(column, stage.plan)
    // Below a stage that has begun there is generated code.
    case WholeStageCodegenExec(child) => isNumber(column, child)
    case InputAdapter(child)          => isNumber(column, child)
    // Where a stage has begun, other software may have put a node of its own in the place of Spark's.
    case other: UnaryExecNode => other.logicalLink.exists(isNumber(column, _))
    case _                    => false
  }

  @tailrec
  private def isNumber(column: Attribute, plan: LogicalPlan): Boolean = plan match {
    case Project(columns, child) =>
      definitionOf(column, columns) match {
        case Some(MonotonicallyIncreasingID()) => true
        case Some(below: Attribute)            => isNumber(below, child)
        case _                                 => false
      }
    case Filter(_, child) => isNumber(column, child)
    case _                => false
  }

  private def definitionOf(column: Attribute, columns: Seq[NamedExpression]): Option[Expression] =
    columns.find(_.exprId == column.exprId).map {
      case Alias(definition, _) => definition
      case same                 => same
    }
}
