// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.types._

/**
 * A random aggregate of the matches of the rows of one side, by any columns of it.
 *
 * @param side the table whose columns are grouped by
 */
final class RandomAggregation(draw: Draw, side: String, otherType: RangeType) {
  private val other = if (side == "l") "r" else "l"

  private val grouping: Seq[String] = draw.pick(
    Seq.fill(4)(Seq("id")) ++
      Seq(Seq("k0"), Seq("v"), Seq("v", "s"), Seq("v % 3"), Nil)).map(c => s"$side.$c")

  private def mostly(first: String, second: String) = if (draw.chance(80)) first else second

  /** Of those that tie, any is taken: they look the same. */
  private val extreme: String = otherType.dataType match {
    case _: IntegralType | _: DecimalType | DateType | TimestampType | TimestampNTZType => "y"
    case _ => draw.pick(Seq("v", "s", "id"))
  }

  /** Whether all functions are counts, sums and averages, which are made of intervals without pairs. */
  private val addUp = draw.chance(40)

  /**
   * A sum of doubles without its last digits, which depend on the order of the rows. It is moved a
   * little, since quotients of small integers lie halfway between two rounded values.
   */
  private def rounded(sum: String) = s"round($sum + 0.0000123, 4)"

  private def function: String = {
    val table = mostly(other, side)
    draw.below(if (addUp) 6 else 16) match {
      case 0 | 1 => "count(*)"
      case 2     => s"count($table.${draw.pick(Seq("v", "s", "y", "p"))})"
      case 3     => s"sum($table.v)"
      case 4     => s"sum($table.v * 461168601842738790L)"
      case 5     => s"avg($table.v)"
      case 6     => s"min($other.$extreme)"
      case 7     => s"max($other.$extreme)"
      case 8     => s"${draw.pick(Seq("min", "max"))}($table.s)"
      case 9     => s"sum(CAST($table.v AS DECIMAL(${draw.pick(Seq("9, 2", "18, 4", "38, 18"))})))"
      case 10    => s"avg(CAST($table.v AS DECIMAL(12, 3)))"
      case 11    =>
        val name = draw.pick(
          Seq("stddev", "var_pop", "stddev_pop", "variance", "skewness", "kurtosis"))
        rounded(s"$name($table.v)")
      case 12 =>
        val name = draw.pick(Seq("corr", "covar_pop", "covar_samp", "regr_count", "regr_slope"))
        rounded(s"$name($table.v, $table.id)")
      case 13 =>
        s"${draw.pick(Seq("bit_and", "bit_or", "bit_xor"))}($table.v)"
      case 14 => s"${draw.pick(Seq("bool_and", "bool_or"))}($table.v > 7)"
      case _  => s"${draw.pick(Seq("max_by", "min_by"))}($table.id, $table.id)"
    }
  }

  private val functions = Seq.fill(1 + draw.below(4)) {
    val plain = function
    if (draw.chance(85) || plain.startsWith("round")) plain
    else s"$plain FILTER (WHERE ${mostly(other, side)}.v > ${draw.below(9)})"
  }

  private val having =
    if (draw.chance(85)) "" else s" HAVING count(*) > ${1 + draw.below(3)}"

  /** Of no column of the row itself, which Spark would refuse. */
  private val ofOther = functions.filterNot(_.contains(s"$side."))

  // Drawn last, so that a seed gives the aggregate it gave before.
  private val isCorrelated = side == "l" && ofOther.nonEmpty && draw.chance(35)

  /** The query with a subquery for each left row, over the tables; None for a query over their join. */
  def correlated(left: String, right: String, on: String): Option[String] =
    if (!isCorrelated) None
    else {
      val values = ofOther.map(f => s"(SELECT $f FROM $right WHERE $on)")
      val kept =
        draw.shuffle(Seq("k0", "y", "z", "v", "s", "p")).take(draw.below(4)).map(c => s"l.$c")
      val shown = draw.below(5) match {
        case 0 => kept
        case _ => values.zipWithIndex.map { case (value, i) => s"$value AS c$i" } ++ kept
      }
      val few =
        draw.pick(Seq("", "", "l.id = 3", "l.v > 8", "l.id < 5 AND l.v > 2", "l.id % 4 = 1"))
      val filters = Seq(few).filter(_.nonEmpty) ++
        (if (shown == kept) Seq(s"${values.head} IS NOT NULL") else Nil)
      val where = if (filters.isEmpty) "" else filters.mkString(" WHERE ", " AND ", "")
      Some(s"SELECT ${("l.id" +: shown).mkString(", ")} FROM $left$where")
    }

  /** The query over a join, `FROM` and what follows. */
  def query(hint: String, join: String): String = {
    val shown = grouping ++ functions
    val columns = shown.zipWithIndex.map { case (c, i) => s"$c AS c$i" }.mkString(", ")
    val by = if (grouping.isEmpty) "" else grouping.mkString(" GROUP BY ", ", ", "")
    s"SELECT ${hint}$columns $join$by$having"
  }
}
