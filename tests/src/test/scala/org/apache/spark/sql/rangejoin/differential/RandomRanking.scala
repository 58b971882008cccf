// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.types._

/**
 * A random ranking of the matches of each row of one side: by the range column of the other side, or by how far it is
 * from the row's own; by a rank, or as an aggregate.
 *
 * @param side the table whose rows have ranks for themselves
 */
final class RandomRanking(draw: Draw, side: String, leftType: RangeType, rightType: RangeType) {
  import RandomRanking._

  private val other = if (side == "l") "r" else "l"
  private val limit = draw.pick(Seq(1, 1, 2, 3, 10))
  private val difference =
    if (draw.chance(60))
      RandomRanking.difference(leftType, rightType).map(differenceOf =>
        differenceOf(draw.shuffle(Sides)))
    else None
  private val isAbsolute = draw.chance(75)
  private val isNegated = draw.chance(20)
  private val by = difference.fold(s"$other.y") { subtracted =>
    val number = if (isAbsolute) s"abs($subtracted)" else s"($subtracted)"
    if (isNegated) s"-$number" else number
  }
  private val function =
    draw.pick(Seq("rank", "dense_rank") ++ (if (isShownWhole) Seq("row_number") else Nil))
  private val least = if (isNegated) " DESC" else ""
  private val direction =
    if (difference.isDefined && draw.chance(80)) least else draw.pick(Seq(" DESC", " ASC"))
  private val nulls = draw.pick(Seq("", "", " NULLS LAST", " NULLS FIRST"))
  private val isAggregate = draw.chance(25) && isShownWhole
  // Of the farthest all pairs are made.
  private val isOpen =
    difference.isDefined && isAbsolute && direction.trim == least.trim && draw.chance(50)

  /** Whether values that tie look the same, so that it is no matter which of them are taken. */
  private def isShownWhole: Boolean = rangeOf(other).dataType match {
    case _: IntegralType | _: DecimalType | DateType | TimestampType | TimestampNTZType => true
    // Zero may have a sign.
    case _ => difference.isDefined && isAbsolute
  }

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

  private val Sides = Seq("l.y", "r.y")

  /** The difference of the range columns; None where they have none. */
  private def difference(left: RangeType, right: RangeType): Option[Seq[String] => String] =
    if (left.dataType != right.dataType) None
    else left.dataType match {
      case _: IntegralType | FloatType | DoubleType => Some(_.mkString(" - "))
      case d: DecimalType if d.precision <= 18      => Some(_.mkString(" - "))
      case DateType                                 => Some(_.mkString("datediff(", ", ", ")"))
      case TimestampType | TimestampNTZType         => Some(_.mkString(" - "))
      case _                                        => None
    }
}
