// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.explain

import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Complete}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, ExprId, Expression}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.rangejoin.best.BestMatches
import org.apache.spark.sql.rangejoin.condition.{LeftSide, Reason, Side}

import org.json4s.JObject
import org.json4s.JsonDSL._

/**
 * What there is to say of one join of a physical plan.
 *
 * @param operator the name of the node, as EXPLAIN has it
 * @param joinType as SQL has it
 * @param keys the expressions that have to be equal, of the left and the right side
 * @param range what became the range, in the columns of the user; empty for a stock join
 * @param residual what else is asked of a pair
 * @param streamed the side whose rows are read one after the other; None for a stock join
 * @param reason why it is a stock join; None for a range join
 * @param isOneSided whether the range has one end
 * @param metrics by name, those of its buckets included; zeros before the query has run
 * @param leftRows the rows that came in; None where the plan does not tell; likewise `rightRows`
 * @param advice what its form, or its figures once the query has run, suggest
 * @param within what the join is in, if not in the plan itself: cached data, or a command
 * @param owner where the rows are joined by buckets of the range, the side that has each of them once
 * @param best which matches of a streamed row are wanted; None for all of them
 * @param aggregated the functions that the matches of a streamed row are aggregated by, in the place of pairs
 * @param hasRun whether the join is known to have run, so that zeros are figures
 */
case class JoinReport(
    operator: String,
    joinType: String,
    keys: Seq[(Expression, Expression)],
    range: Seq[Expression],
    residual: Option[Expression],
    streamed: Option[Side],
    reason: Option[Reason],
    isOneSided: Boolean = false,
    metrics: Map[String, Long] = Map.empty,
    leftRows: Option[Long] = None,
    rightRows: Option[Long] = None,
    advice: Seq[String] = Nil,
    within: Option[String] = None,
    owner: Option[Side] = None,
    best: Option[BestMatches] = None,
    aggregated: Seq[AggregateExpression] = Nil,
    hasRun: Boolean = false
) {
  import JoinReport._

  /** Whether the join is a range join, or compares its sides and could be asked about. */
  def isOfInterest: Boolean = !reason.contains(Reason.NoCondition)

  /** Whether anything was counted. */
  private[explain] def hasFigures: Boolean =
    metrics.values.exists(_ > 0) || leftRows.exists(_ > 0) || rightRows.exists(_ > 0)

  /** One line for a range join; for a stock join one more for each, why and what to do. */
  def text: String = {
    val what = Seq(s"$operator, $joinType" + within.fold("")(" (in " + _ + ")")) ++
      (if (keys.nonEmpty) Seq(s"keys: ${keysSql.mkString(", ")}") else Nil) ++
      rangeSql.map("range: " + cut(_)) ++
      residual.filter(_ => reason.isEmpty).map(r => s"residual: ${cut(sql(r))}") ++
      streamed.map(side => s"streamed side: ${nameOf(side)}") ++
      bestSql.map("matches: " + _) ++
      aggregatedSql.map("aggregated in the join: " + cut(_)) ++
      owner.map(side => s"by buckets of the range, owner: ${nameOf(side)}")
    val why = reason.toSeq.flatMap { r =>
      s"no range join: ${cut(causeOf(r))}" +: r.remedy.map("to change that: " + _).toSeq
    }
    (what.mkString("; ") +: why).mkString("\n   ")
  }

  /** All of it, by the names of the parameters. */
  def json: JObject =
    ("operator" -> operator) ~
      ("joinType" -> joinType) ~
      ("keys" -> keysSql) ~
      ("range" -> rangeSql) ~
      ("residual" -> residual.map(sql)) ~
      ("streamed" -> streamed.map(nameOf)) ~
      ("buffered" -> streamed.map(side => nameOf(side.other))) ~
      ("reason" -> reason.map(causeOf)) ~
      ("remedy" -> reason.flatMap(_.remedy)) ~
      ("oneSided" -> isOneSided) ~
      ("metrics" -> metrics) ~
      ("leftRows" -> leftRows) ~
      ("rightRows" -> rightRows) ~
      ("advice" -> advice) ~
      ("within" -> within) ~
      ("owner" -> owner.map(nameOf)) ~
      ("best" -> bestSql) ~
      ("aggregated" -> aggregatedSql) ~
      ("hasRun" -> hasRun)

  private def keysSql: Seq[String] = keys.map { case (l, r) => s"${sql(l)} = ${sql(r)}" }

  private def bestSql: Option[String] = best.map { wanted =>
    s"${wanted.ranking} <= ${wanted.limit} by ${wanted.rankedBy(sql)}"
  }

  private def aggregatedSql: Option[String] =
    if (aggregated.isEmpty) None
    else Some(aggregated.map(f => sql(f.copy(mode = Complete))).mkString(", "))

  private def rangeSql: Option[String] =
    if (range.isEmpty) None else Some(range.map(sql).mkString(" AND "))
}

object JoinReport {

  /** The length at which a part of a report is cut; JSON has all of it. */
  val MaxLength = 1000

  private def cut(text: String): String =
    if (text.length <= MaxLength) text else text.take(MaxLength) + "…"

  private[explain] def nameOf(side: Side): String = if (side == LeftSide) "left" else "right"

  /** An expression as a user would write it: of the names of a column the last two. */
  private[explain] def sql(e: Expression): String = ColumnNumbers.unquoted(e.transform {
    case a: Attribute => a.withQualifier(a.qualifier.lastOption.toSeq)
  }.sql)

  private def causeOf(reason: Reason): String = ColumnNumbers.unquoted(reason.cause)
}

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
