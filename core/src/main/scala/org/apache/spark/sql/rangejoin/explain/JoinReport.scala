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

package org.apache.spark.sql.rangejoin.explain

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.rangejoin.condition.{LeftSide, Reason, Side}

import org.json4s.JObject
import org.json4s.JsonDSL._

/**
 * What there is to say of one join of a physical plan.
 *
 * @param operator the name of the node, as EXPLAIN has it
 * @param joinType as SQL has it
 * @param keys equi keys, by the left and the right side
 * @param range what became the range, in the columns of the user; empty for a stock join
 * @param residual what else is asked of a pair
 * @param streamed the side whose rows are read one after the other; None for a stock join
 * @param reason why it is a stock join; None for a range join
 * @param metrics by name; zeros before the query has run
 */
case class JoinReport(
    operator: String,
    joinType: String,
    keys: Seq[(Expression, Expression)],
    range: Seq[Expression],
    residual: Option[Expression],
    streamed: Option[Side],
    reason: Option[Reason],
    metrics: Map[String, Long]
) {
  import JoinReport._

  /** Whether the join is a range join, or compares its sides and could be asked about. */
  def isOfInterest: Boolean = !reason.contains(Reason.NoCondition)

  /** One line for a range join; for a stock join one more for each, why and what to do. */
  def text: String = {
    val what = Seq(s"$operator, $joinType") ++
      Option.when(keys.nonEmpty)(s"keys: ${keysSql.mkString(", ")}") ++
      rangeSql.map("range: " + _) ++
      residual.filter(_ => reason.isEmpty).map(r => s"residual: ${sql(r)}") ++
      streamed.map(side => s"streamed side: ${nameOf(side)}")
    val why = reason.toSeq.flatMap { r =>
      s"no range join: ${r.cause}" +: r.remedy.map("to change that: " + _).toSeq
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
      ("reason" -> reason.map(_.cause)) ~
      ("remedy" -> reason.flatMap(_.remedy)) ~
      ("metrics" -> metrics)

  private def keysSql: Seq[String] = keys.map { case (l, r) => s"${sql(l)} = ${sql(r)}" }

  private def rangeSql: Option[String] =
    Option.when(range.nonEmpty)(range.map(sql).mkString(" AND "))
}

object JoinReport {

  private def nameOf(side: Side): String = if (side == LeftSide) "left" else "right"

  /** An expression as a user would write it: of the names of a column the last two. */
  private def sql(e: Expression): String = e.transform {
    case a: Attribute => a.withQualifier(a.qualifier.lastOption.toSeq)
  }.sql
}
