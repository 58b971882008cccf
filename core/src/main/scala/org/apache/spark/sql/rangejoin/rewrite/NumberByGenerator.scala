// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.PartialFunction.cond

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.JOIN
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.rangejoin.plan.NumberOfRow

/**
 * Numbers left rows by a generator where a join above may prune their partitions:
 *
 * {{{
 *   SELECT v.* FROM (SELECT l.*, (SELECT sum(r.p) FROM r WHERE r.k = l.k AND r.t <= l.t) FROM l) v
 *   JOIN days ON v.day = days.day WHERE days.year = 2026
 * }}}
 *
 * Spark adds the filter of partitions when it has pushed all others down, and drops it where it does not reach the scan.
 * It pushes a filter through a generator, but not through a projection that is not deterministic.
 *
 * Runs once, before that (the last of the pre-CBO rules).
 */
object NumberByGenerator extends Rule[LogicalPlan] with JoinSelectionHelper
    with PredicateHelper {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.dynamicPartitionPruningEnabled) plan
    else plan.transformUpWithPruning(_.containsPattern(JOIN)) {
      case join @ ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, _, _, left, right, _) =>
        join.withNewChildren(Seq(
          if (canPruneLeft(joinType) && NumberedRows.isSelective(right)) pruned(left, leftKeys)
          else left,
          if (canPruneRight(joinType) && NumberedRows.isSelective(left)) pruned(right, rightKeys)
          else right
        ))
    }

  /** A side whose partitions may be pruned by some of its keys. */
  private def pruned(side: LogicalPlan, keys: Seq[Expression]): LogicalPlan = {
    def isOfPartitions(key: Expression) =
      findExpressionAndTrackLineageDown(key, side).exists { case (_, leaf) => isPartitioned(leaf) }
    if (!keys.exists(isOfPartitions)) side
    else side.transform {
      case project @ Project(columns, _) =>
        generated(columns, others => project.copy(projectList = others)).getOrElse(project)
      case aggregate: Aggregate =>
        val columns = aggregate.aggregateExpressions
        generated(columns, others => aggregate.copy(aggregateExpressions = others))
          .getOrElse(aggregate)
    }
  }

  private def isPartitioned(leaf: LogicalPlan): Boolean = cond(leaf) {
    case files: LogicalRelation => cond(files.relation) { case fs: HadoopFsRelation =>
        fs.partitionSchema.nonEmpty
      }
    case table: HiveTableRelation => table.isPartitioned
    // Whether its scan takes filters while the query runs is known when it has been made.
    case relation: DataSourceV2Relation => relation.table.partitioning.nonEmpty
  }

  /**
   * A plan with these columns, if one of them is a number of its rows.
   *
   * @param of the same plan with the other columns alone
   */
  private def generated(
      columns: Seq[NamedExpression],
      of: Seq[NamedExpression] => LogicalPlan): Option[LogicalPlan] =
    columns.partition(column => column.isInstanceOf[Alias] && NumberedRows.isNumber(column)) match {
      case (Seq(number), others) =>
        val rows =
          Generate(NumberOfRow(), Nil, outer = false, None, Seq(number.toAttribute), of(others))
        Some(Project(columns.map(_.toAttribute), rows))
      case _ => None
    }
}
