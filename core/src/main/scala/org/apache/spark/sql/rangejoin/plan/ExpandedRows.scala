// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeSet,
  Expression,
  NamedExpression
}
import org.apache.spark.sql.execution.{ExpandExec, SparkPlan}

/**
 * The rows that ROLLUP, CUBE and GROUPING SETS make of each row.
 *
 * @param projections the keys of each of them
 * @param keys as an aggregate has them
 */
private[plan] case class ExpandedRows(projections: Seq[Seq[Expression]], keys: Seq[Attribute]) {

  /** What the keys are made of. */
  def columns: Seq[NamedExpression] =
    AttributeSet(projections.flatten.flatMap(_.references)).toSeq

  /** Makes them of rows that have buffers. */
  def over(child: SparkPlan, buffers: Seq[Attribute]): SparkPlan =
    ExpandExec(projections.map(_ ++ buffers), keys ++ buffers, child)
}
