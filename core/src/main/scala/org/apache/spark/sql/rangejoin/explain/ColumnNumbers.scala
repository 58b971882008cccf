// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.explain

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, ExprId, Expression}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.rangejoin.best.BestMatches

/**
 * Gives columns of the two sides that have one name their numbers in the plan, `t#12`: the sides of a self join of a
 * common table expression, say, whose alias the optimizer has dropped.
 */
private[explain] class ColumnNumbers(ambiguous: Set[ExprId]) {

  private def rename: PartialFunction[Expression, Expression] = {
    case a: AttributeReference if ambiguous(a.exprId) => a.withName(s"${a.name}#${a.exprId.id}")
  }

  def apply(join: BaseJoinExec): BaseJoinExec =
    join.transformExpressions(rename).asInstanceOf[BaseJoinExec]

  def apply(report: JoinReport): JoinReport = {
    def renamed(e: Expression) = e.transform(rename)
    report.copy(
      keys = report.keys.map { case (l, r) => renamed(l) -> renamed(r) },
      range = report.range.map(renamed),
      residual = report.residual.map(renamed),
      best =
        report.best.map(b => b.withNewChildren(b.children.map(renamed)).asInstanceOf[BestMatches]),
      aggregated = report.aggregated.map(f => renamed(f).asInstanceOf[AggregateExpression])
    )
  }
}

private[explain] object ColumnNumbers {

  /** For a join in whose expressions columns have one name; None for others. */
  def of(join: BaseJoinExec): Option[ColumnNumbers] = {
    val columns = join.expressions.flatMap(_.collect { case a: AttributeReference => a })
    val ambiguous = columns.groupBy(JoinReport.sql).values
      .map(_.map(_.exprId).toSet).filter(_.size > 1).flatten
    if (ambiguous.isEmpty) None else Some(new ColumnNumbers(ambiguous.toSet))
  }

  private val Quoted = "`(\\w+#\\d+)`".r

  /** The text of expressions without the quotes around such names. */
  def unquoted(text: String): String = Quoted.replaceAllIn(text, "$1")
}
