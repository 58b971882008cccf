// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.expressions.{BinaryComparison, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * Shows inferred limits to the sources that compare values as Spark does, before Spark plans their scans:
 * Iceberg leaves out manifests and files by them. From all other sources [[ImpliedLimit]] hides them.
 */
object ShownLimits {

  /** Spark has it from 4.1 on. */
  private val JoinPushdown = "spark.sql.optimizer.datasourceV2JoinPushdown"

  private val Inferred = TreeNodeTag[Unit]("rangejoin.inferred")

  /** Whether a predicate of a filter was inferred, shown or not. */
  def isInferred(predicate: Expression): Boolean =
    predicate.isInstanceOf[ImpliedLimit] || predicate.getTagValue(Inferred).isDefined

  /** The plan with the limits shown that stand directly above such a source. */
  def in(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case Filter(condition, source: DataSourceV2Relation) if isTrusted(source) =>
      Filter(
        condition.transform {
          case ImpliedLimit(limit: BinaryComparison) if isExact(limit) =>
            limit.setTagValue(Inferred, ())
            limit
        },
        source)
  }

  /**
   * Whether a source below may compute an aggregate or a join itself, unless there is a filter in between that it does
   * not know. Files leave out partitions by any filter.
   */
  def wouldHinder(side: LogicalPlan): Boolean = {
    def readsSource(plan: LogicalPlan) = plan.exists {
      case source: DataSourceV2Relation =>
        !isTrusted(source) && !source.table.isInstanceOf[FileTable]
      case _ => false
    }
    side.exists {
      case aggregate: Aggregate => readsSource(aggregate)
      case _                    => false
    } || SQLConf.get.getConfString(JoinPushdown, "false").toBoolean && readsSource(side)
  }

  private def isTrusted(source: DataSourceV2Relation): Boolean =
    source.table.getClass.getName.startsWith("org.apache.iceberg.")

  /** Iceberg's bounds of a file do not count NaN, which is the greatest value for Spark. */
  private def isExact(limit: BinaryComparison): Boolean = limit.left.dataType match {
    case IntegerType | LongType | DateType | TimestampType | TimestampNTZType => true
    case _: DecimalType                                                       => true
    case _                                                                    => false
  }
}
