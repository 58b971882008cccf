// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

/**
 * Writes comparisons in the ways SQL has for them: strict or inclusive, either way round, negated,
 * as `BETWEEN`.
 */
final class Comparisons(val draw: Draw, val ansi: Boolean) {

  /** `lesser <= greater`, or `<`. */
  def atMost(lesser: String, greater: String): String = {
    val strict = draw.chance(33)
    val (less, more) = if (strict) ("<", ">") else ("<=", ">=")
    draw.below(7) match {
      case 0               => s"NOT ($lesser ${if (strict) ">=" else ">"} $greater)"
      case n if n % 2 == 0 => s"$lesser $less $greater"
      case _               => s"$greater $more $lesser"
    }
  }

  /** `low <= value <= high`, either of them possibly strict. */
  def between(low: String, value: String, high: String): Seq[String] =
    if (draw.chance(30)) Seq(s"$value BETWEEN $low AND $high")
    else Seq(atMost(low, value), atMost(value, high))

  /** The conjuncts in any order, nested in any way. */
  def conjunction(conjuncts: Seq[String]): String = nest(draw.shuffle(conjuncts))

  private def nest(conjuncts: Seq[String]): String =
    if (conjuncts.size <= 2) conjuncts.mkString(" AND ")
    else {
      val (first, second) = conjuncts.splitAt(1 + draw.below(conjuncts.size - 1))
      Seq(first, second).map {
        case Seq(one) => one
        case several  => s"(${nest(several)})"
      }.mkString(" AND ")
    }
}
