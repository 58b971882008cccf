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
