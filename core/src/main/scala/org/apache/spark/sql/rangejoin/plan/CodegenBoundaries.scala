// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.{SparkPlan, UnionExec}
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, TwoInputRangeJoinExec}

/** Where code generation has to end because of a range join of two inputs. */
private[plan] object CodegenBoundaries {

  /**
   * `UNION` fuses the code of its children unless it finds a stock join of two inputs below; those of
   * ours it does not know.
   */
  def belowUnions(plan: SparkPlan): SparkPlan = plan.transformUp { case union: UnionExec =>
    union.withNewChildren(union.children.map {
      case boundary: CodegenBoundaryExec  => boundary
      case child if fusesRangeJoin(child) => CodegenBoundaryExec(child)
      case child                          => child
    })
  }

  private def fusesRangeJoin(plan: SparkPlan): Boolean = plan match {
    case _: TwoInputRangeJoinExec             => true
    case _: Exchange | _: CodegenBoundaryExec => false
    case other                                => other.children.exists(fusesRangeJoin)
  }
}
