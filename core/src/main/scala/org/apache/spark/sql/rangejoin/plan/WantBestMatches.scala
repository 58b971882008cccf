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

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.window.WindowGroupLimitExec
import org.apache.spark.sql.execution.{ProjectExec, SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.broadcast.IndexedStageJoinExec
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.reduce.{BestMatches, Ranking}

/**
 * Tells a marked join which of the matches of a row are wanted, where all that is asked of them is a
 * ranking by a column of the other side, or by how far it is from a value of the row: `row_number() <= k`
 * and the like, or the value at the least or greatest of it, in partitions or groups by columns of the row.
 *
 * What ranks the pairs stays where it is. A pair that is not among the best of its own row is not among the
 * best of a partition that has other rows as well, so nothing has to be known of the columns that rows
 * are partitioned by but that they are of one side. And as pairs beyond the best change nothing, a join may
 * give as many of them as it finds convenient.
 *
 * Runs before marked joins are replaced.
 */
object WantBestMatches extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = {
    if (conf.getConf(RangeJoinConf.BestMatches)) {
      plan.foreach(node => WantedPairs.of(node).foreach(tell(_, node.children.head)))
    }
    plan
  }

  private def tell(wanted: WantedPairs, below: SparkPlan): Unit = below match {
    case SortExec(_, false, child, _)      => tell(wanted, child)
    case ProjectExec(projected, child)     => wanted.below(projected).foreach(tell(_, child))
    case join: SortMergeJoinExec           => tell(wanted, join, join, None)
    case join: HashJoin                    => tell(wanted, join, join, Some(join.buildSide))
    case join: BroadcastNestedLoopJoinExec => tell(wanted, join, join, Some(join.buildSide))
    case join: IndexedStageJoinExec        => tell(wanted, join, join.placed, Some(join.buildSide))
    case _                                 =>
  }

  /** @param built the side that cannot be streamed; None where either can */
  private def tell(
      wanted: WantedPairs,
      marked: SparkPlan,
      join: BaseJoinExec,
      built: Option[BuildSide]
  ): Unit =
    for {
      best <- wanted.of(join.left.outputSet, join.right.outputSet)
      streamed = best.streamedSide(join.left.outputSet)
      if mayStream(join.joinType, streamed) && built.forall(isOther(_, streamed))
    } marked.setTagValue(BestMatches.Tag, best)

  /** Whether all that comes out of a join are pairs, and rows of this side. */
  private def mayStream(joinType: JoinType, side: Side): Boolean =
    JoinTypeBehavior.of(joinType, side).exists(of => of.emission == EveryPair && !of.keepsBuffered)

  private def isOther(built: BuildSide, streamed: Side): Boolean =
    (built == BuildLeft) == (streamed == RightSide)
}

/**
 * What is wanted of pairs.
 *
 * @param partition what they are partitioned by
 * @param best the best of a partition, by any expression
 */
private case class WantedPairs(partition: Seq[Expression], best: BestMatches) {

  /** The same in the columns below a projection; None where it is not the same. */
  def below(projected: Seq[NamedExpression]): Option[WantedPairs] =
    if (!projected.forall(_.deterministic)) None
    else {
      val aliases = AttributeMap(projected.collect { case a: Alias => a.toAttribute -> a.child })
      def under(e: Expression) = e.transformUp { case a: Attribute => aliases.getOrElse(a, a) }
      val order = SortOrder(under(best.order.child), best.order.direction)
      Some(WantedPairs(partition.map(under), best.copy(order = order)))
    }

  /** The best matches that rows of one side have on the other side; None where that is not the question. */
  def of(left: AttributeSet, right: AttributeSet): Option[BestMatches] =
    if (partition.forall(_.deterministic)) ofSides(left, right).orElse(ofSides(right, left))
    else None

  private def ofSides(streamed: AttributeSet, other: AttributeSet): Option[BestMatches] =
    if (!isPartitionedBy(streamed)) None
    else if (best.column.isDefined) best.column.filter(other.contains).map(_ => best)
    else Distance.of(best.order.child, streamed, other).flatMap(best.by)

  private def isPartitionedBy(side: AttributeSet) =
    partition.forall(_.references.subsetOf(side))
}

private object WantedPairs {

  /** What an operator wants of the rows it is given. */
  def of(plan: SparkPlan): Option[WantedPairs] = plan match {
    case limit: WindowGroupLimitExec  => ofRanks(limit)
    case aggregate: BaseAggregateExec => ofExtremes(aggregate)
    case _                            => None
  }

  private def ofRanks(limit: WindowGroupLimitExec): Option[WantedPairs] = {
    val ranking = Option(limit.rankLikeFunction).collect {
      // By more than a column, those that tie by it are ranked by the rest.
      case _: RowNumber => if (limit.orderSpec.size == 1) Ranking.RowNumber else Ranking.Rank
      case _: Rank      => Ranking.Rank
      case _: DenseRank => Ranking.DenseRank
    }
    for (by <- limit.orderSpec.headOption; ranked <- ranking if limit.limit > 0)
      yield WantedPairs(limit.partitionSpec, BestMatches(plain(by), limit.limit, ranked))
  }

  private def plain(order: SortOrder) = SortOrder(order.child, order.direction)

  /** Aggregates all of which ask for what is at one end of one order. */
  private def ofExtremes(plan: BaseAggregateExec): Option[WantedPairs] = {
    val orders = plan.aggregateExpressions.map {
      case AggregateExpression(function, Partial | Complete, false, None, _) => extremeOf(function)
      case _                                                                 => None
    }
    orders.headOption.flatten
      .filter(first => orders.forall(_.exists(isSame(_, first))))
      .map(order => WantedPairs(plan.groupingExpressions, BestMatches(order, 1, Ranking.Rank)))
  }

  private def isSame(a: SortOrder, b: SortOrder): Boolean =
    a.direction == b.direction && a.child.semanticEquals(b.child)

  private def extremeOf(function: AggregateFunction): Option[SortOrder] = function match {
    case MaxBy(_, order) => Some(SortOrder(order, Descending))
    case MinBy(_, order) => Some(SortOrder(order, Ascending))
    case Max(value)      => Some(SortOrder(firstOf(value), Descending))
    case Min(value)      => Some(SortOrder(firstOf(value), Ascending))
    case _               => None
  }

  /** What values are compared by first. */
  private def firstOf(value: Expression): Expression = value match {
    case CreateNamedStruct(_ +: first +: _) => firstOf(first)
    case other                              => other
  }
}
