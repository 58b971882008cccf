// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Join, Project}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.rangejoin.condition.{DrivenBy, RangeCondition, RangeExtractor}

/**
 * Which of several ranges drives a join. Example: of ranges of latitude and longitude one drives, and the
 * other is tested for each pair that the first one lets pass. It is the range that the condition has first,
 * or that has the better form ([[RangeExtractor]]), unless statistics of columns say that another one lets
 * far fewer pairs pass. Chosen once, when the join is first planned.
 */
private[rangejoin] object DrivingRange {

  /** Estimates are rough: another range drives only if it has this many times fewer pairs. */
  val TimesFewer = 2

  /** More of them are not looked at. */
  val MostRanges = 4

  /** On a join, what was found for its condition, so that it is planned alike whenever stages have run. */
  private val Found =
    TreeNodeTag[(Option[Expression], Option[RangeCondition])]("rangejoin.drivingRange")

  /** The range that is to drive a join by whatever node it is planned; None where there is none. */
  def of(join: Join): Option[RangeCondition] = better(join).orElse(ranges(join).headOption)

  /** Those that could drive it as well, and whose bounds are worth evaluating for a sample. */
  def others(join: Join): Seq[RangeCondition] = {
    val driving = of(join)
    ranges(join).filterNot(driving.contains).filterNot(range =>
      isCostly(range) || isMadeCostly(range, join))
  }

  /** A join that says in its condition what drives it, if it is another range than the condition has it be. */
  def chosen(join: Join): Join = better(join).fold(join)(range =>
    join.copy(condition = join.condition.map(DrivenBy(range, _))))

  /** The node that Spark has planned for `join`, with the driving range in its condition. */
  def chosen(planned: SparkPlan, join: Join): SparkPlan = better(join).fold(planned) { range =>
    def by(condition: Option[Expression]) = condition.map(DrivenBy(range, _))
    val driven = planned match {
      case j: SortMergeJoinExec           => j.copy(condition = by(j.condition))
      case j: ShuffledHashJoinExec        => j.copy(condition = by(j.condition))
      case j: BroadcastHashJoinExec       => j.copy(condition = by(j.condition))
      case j: BroadcastNestedLoopJoinExec => j.copy(condition = by(j.condition))
      case j: CartesianProductExec        => j.copy(condition = by(j.condition))
      case other                          => other
    }
    driven.copyTagsFrom(planned)
    driven
  }

  /** A range in which, by statistics, there are far fewer pairs than in the one that would drive. */
  def better(join: Join): Option[RangeCondition] =
    join.getTagValue(Found).filter(_._1 == join.condition).map(_._2).getOrElse {
      val found = find(join)
      join.setTagValue(Found, join.condition -> found)
      found
    }

  /** Has a range drive a join whatever statistics say, by its number; for tests. */
  private[plan] def force(join: Join, number: Int): Unit =
    join.setTagValue(Found, join.condition -> ranges(join).lift(number))

  private def find(join: Join): Option[RangeCondition] = ranges(join) match {
    case first +: others if others.nonEmpty =>
      val statistics = new ColumnStatistics(join)
      def shareOf(range: RangeCondition) = if (isCostly(range)) None else statistics.share(range)
      for {
        share <- shareOf(first)
        (range, least) <-
          others.flatMap(other => shareOf(other).map(other -> _)).sortBy(_._2).headOption
        if least * TimesFewer <= share
      } yield range
    case _ => None
  }

  private def ranges(join: Join): Seq[RangeCondition] =
    RangeExtractor.ranges(join, streamed = None).fold(_ => Nil, _.take(MostRanges))

  private def isCostly(range: RangeCondition): Boolean =
    range.predicates.exists(CostlySide.isCostly(_: Expression))

  /** Whether a side computes a column of a range, which a sample would then compute once more. */
  private def isMadeCostly(range: RangeCondition, join: Join): Boolean = {
    val read = AttributeSet.fromAttributeSets(range.predicates.map(_.references))
    join.children.exists(_.exists {
      case Project(columns, _) =>
        columns.exists(column =>
          read.contains(column.toAttribute) && CostlySide.isCostly(column: Expression))
      case _ => false
    })
  }
}
