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

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.types._

/**
 * A random ranking of the matches of each row of one side: by the range column of the other side, or by how far it is
 * from the row's own; by a rank, or as an aggregate.
 *
 * @param side the table whose rows have ranks for themselves
 */
final class RandomRanking(draw: Draw, side: String, leftType: RangeType, rightType: RangeType) {
  private val other = if (side == "l") "r" else "l"
  private val limit = draw.pick(Seq(1, 1, 2, 3, 10))
  private val distance = if (draw.chance(60)) RandomRanking.distance(leftType, rightType) else None
  private val by = distance.getOrElse(s"$other.y")
  private val function =
    draw.pick(Seq("rank", "dense_rank") ++ (if (isShownWhole) Seq("row_number") else Nil))
  private val direction =
    if (distance.isDefined && draw.chance(80)) "" else draw.pick(Seq(" DESC", " ASC"))
  private val nulls = draw.pick(Seq("", "", " NULLS LAST", " NULLS FIRST"))
  private val isAggregate = draw.chance(25) && isShownWhole
  // Of the farthest all pairs are made.
  private val isOpen = distance.isDefined && direction != " DESC" && draw.chance(50)

  /** Whether values that tie look the same, so that it is no matter which of them are taken. */
  private def isShownWhole: Boolean = distance.isDefined || (rangeOf(other).dataType match {
    case _: IntegralType | _: DecimalType | DateType | TimestampType | TimestampNTZType => true
    case _                                                                              => false
  })

  private def rangeOf(table: String): RangeType = if (table == "l") leftType else rightType

  /** Whether the join has a range of its own; else all rows of a key are ranked. */
  def hasRange: Boolean = !isOpen

  /** The query over a join, `FROM` and what follows. */
  def query(hint: String, join: String): String =
    if (isAggregate) {
      val extreme = if (direction == " DESC") s"max($by)" else s"min($by)"
      s"SELECT $hint$side.id, $extreme AS m $join GROUP BY $side.id"
    } else {
      // Of those that tie row_number takes any: what they tie by is the same.
      val shown = if (function == "row_number") by else s"$other.id"
      val over = s"PARTITION BY $side.id ORDER BY $by$direction$nulls"
      s"SELECT * FROM (SELECT $hint$side.id AS a, $shown AS b, $function() OVER ($over) AS n $join) " +
        s"WHERE n <= $limit"
    }
}

object RandomRanking {

  /** How far the range columns are apart; None where they have no distance. */
  private def distance(left: RangeType, right: RangeType): Option[String] =
    if (left.dataType != right.dataType) None
    else left.dataType match {
      case _: IntegralType | FloatType | DoubleType => Some("abs(l.y - r.y)")
      case d: DecimalType if d.precision <= 18      => Some("abs(l.y - r.y)")
      case DateType                                 => Some("abs(datediff(l.y, r.y))")
      case TimestampType | TimestampNTZType         => Some("abs(r.y - l.y)")
      case _                                        => None
    }
}
