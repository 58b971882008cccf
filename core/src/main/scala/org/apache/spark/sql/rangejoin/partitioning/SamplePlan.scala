// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression}
import org.apache.spark.sql.catalyst.optimizer.{CollapseProject, ColumnPruning}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

/**
 * The query that a sample of a side is drawn from: a few expressions of its rows, and as little else as
 * possible.
 */
object SamplePlan {

  private val isPlanning = ThreadLocal.withInitial[java.lang.Boolean](() => false)

  /** Whether this thread plans a sample. Such a plan is not adaptive: nobody would wait for what its joins wait for. */
  def isPlanningSample: Boolean = isPlanning.get

  /** The plan of the query. */
  private[partitioning] def apply(
      session: SparkSession,
      columns: Seq[Expression],
      side: LogicalPlan): SparkPlan = {
    val named = columns.zipWithIndex.map { case (e, i) => Alias(e, s"bound_$i")() }
    planning(QueryExecution.prepareExecutedPlan(session, pruned(Project(named, side))))
  }

  private def planning[T](plan: => T): T = {
    val before = isPlanning.get
    isPlanning.set(true)
    try plan
    finally isPlanning.set(before)
  }

  /**
   * Without the columns that are not needed. A query stage stays directly below its join: strategies look
   * for it there, and a broadcast has no rows for a projection.
   */
  private def pruned(plan: LogicalPlan): LogicalPlan = {
    val next = CollapseProject(ColumnPruning(plan))
    if (!next.fastEquals(plan)) pruned(next)
    else {
      plan.transformUp { case join: Join =>
        join.withNewChildren(join.children.map {
          case Project(columns, stage: LogicalQueryStage)
              if columns.forall(_.isInstanceOf[Attribute]) => stage
          case other => other
        })
      }
    }
  }
}
