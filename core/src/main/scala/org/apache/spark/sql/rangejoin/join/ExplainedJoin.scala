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

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.ExplainUtils.generateFieldString
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.rangejoin.condition.RangeCondition

/**
 * What EXPLAIN shows of a range join, whichever node it is.
 *
 * @param range None where the node serves none, and shows its condition
 */
private[rangejoin] final class ExplainedJoin(
    join: BaseJoinExec,
    range: Option[RangeCondition],
    streamLeft: Boolean
) {

  private def keys: Seq[(String, Seq[Expression])] =
    if (join.leftKeys.isEmpty) Nil
    else Seq("Left keys" -> join.leftKeys, "Right keys" -> join.rightKeys)

  private def predicates: Option[String] = range.map(_.predicates.mkString(" AND "))

  /** The line of the node: its keys, these arguments, and its range. */
  def args(others: Any*): Seq[Any] = keys.map(_._2) ++ others ++
    range.fold(join.condition.toSeq.map(_.toString)) { of =>
      predicates.filter(_.nonEmpty).map("range: " + _).toSeq ++ of.residual.map("residual: " + _)
    }

  /**
   * The paragraph of the node in EXPLAIN FORMATTED.
   *
   * @param name of the node, with its number
   * @param otherSide what the side is that is not streamed
   * @param more fields that follow
   */
  def paragraph(name: String, otherSide: String, more: (String, String)*): String = {
    val (streamed, other) = if (streamLeft) ("left", "right") else ("right", "left")
    val ofRange = range.toSeq.flatMap { of =>
      Seq("Range" -> predicates.get, "Residual" -> of.residual.fold("None")(_.toString))
    }
    val sides = Seq("Streamed side" -> streamed, otherSide -> other)
    val fields = keys ++ Seq("Join type" -> join.joinType.toString) ++ ofRange ++ sides ++ more
    (name +: fields.map { case (field, value) => generateFieldString(field, value) })
      .mkString("\n", "\n", "\n")
  }
}
