// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.PartialFunction.condOpt

import org.apache.spark.sql.catalyst.expressions.Literal.{FalseLiteral, TrueLiteral}
import org.apache.spark.sql.catalyst.expressions._

/**
 * What a predicate says, in AND, OR and comparisons.
 *
 * @param conjuncts hold wherever the predicate holds
 * @param isEquivalent whether the predicate holds wherever they do
 */
private[condition] case class Alternatives(conjuncts: Seq[Expression], isEquivalent: Boolean)

/**
 * Reads functions that choose among values as what they stand for:
 *
 *   - `IF(p, a, b)` and CASE: `p AND a OR (p is not true) AND b`, also where one is compared,
 *   - `t < coalesce(a, b)`: `t < a OR a IS NULL AND t < b`, where `a` and `b` are of different sides,
 *   - `greatest(a, b) <= least(c, d)`: each of the first with each of the others, unless it is NULL, and
 *     `least(a, b) <= c`: one of them,
 *   - `p IS NOT FALSE`, `NOT coalesce(p, false)` and the like: the comparison in `p`, or a NULL in it.
 *
 * What reads one side alone stays as it is.
 */
private[condition] object Alternatives {

  def of(predicate: Expression, sideOf: Expression => Option[Side]): Alternatives = {
    val reader = new Reader(sideOf)
    val read = reader.read(predicate)
    Alternatives(Predicates.split(read), reader.isEquivalent)
  }

  /** The most comparisons that one is replaced by. */
  private val MostComparisons = 32

  private class Reader(sideOf: Expression => Option[Side]) {
    private var comparisons = 0

    /** Of what was read so far. */
    var isEquivalent = true

    /** The same expression where there is nothing to read. */
    def read(e: Expression): Expression = e match {
      case _ if isOfOneSide(e)                 => e
      case And(a, b)                           => both(e, a, b)(And(_, _))
      case Or(a, b)                            => both(e, a, b)(Or(_, _))
      case Choice(branches)                    => choose(branches)(read)
      case Coalesce(Seq(p, TrueLiteral))       => readNext(e, unlessFalse(p))
      case Coalesce(Seq(p, FalseLiteral))      => read(p)
      case EqualNullSafe(p, TrueLiteral)       => read(p)
      case Not(EqualNullSafe(p, TrueLiteral))  => readNext(e, unlessTrue(p))
      case Not(EqualNullSafe(p, FalseLiteral)) => readNext(e, unlessFalse(p))
      case Not(Coalesce(Seq(p, FalseLiteral))) => readNext(e, unlessTrue(p))
      case _                                   => Comparison.of(e).fold(e)(compared)
    }

    /** Reads what a predicate stands for, unless that is the predicate itself. */
    private def readNext(e: Expression, next: Expression): Expression =
      if (next == e) e else read(next)

    private def both(e: Expression, a: Expression, b: Expression)(
        combine: (Expression, Expression) => Expression): Expression = {
      val (first, second) = (read(a), read(b))
      if (first.eq(a) && second.eq(b)) e else combine(first, second)
    }

    private def isOfOneSide(e: Expression): Boolean = e.references.isEmpty || sideOf(e).isDefined

    /** The value of the first condition that is true. */
    private def choose(branches: Seq[(Expression, Expression)])(
        test: Expression => Expression): Expression =
      branches.foldRight[Expression](FalseLiteral) { case ((condition, value), others) =>
        or(and(condition, test(value)), and(unlessTrue(condition), others))
      }

    /** A comparison with an operand that reads both sides. */
    private def compared(c: Comparison): Expression = {
      def replaced(lesser: Expression, greater: Expression) = {
        comparisons += 1
        val isTrivial = Predicates.haveSameValue(lesser, greater)
        if (isTrivial) {
          if (c.strict) FalseLiteral else if (lesser.nullable) IsNotNull(lesser) else TrueLiteral
        } else {
          val made =
            if (c.strict) LessThan(lesser, greater) else LessThanOrEqual(lesser, greater)
          if (isOfOneSide(made)) made else compared(Comparison.of(made).get)
        }
      }
      if (comparisons > MostComparisons) c.predicate
      else if (!isOfOneSide(c.lesser)) {
        operand(c.lesser, isLesser = true)(replaced(_, c.greater)).getOrElse(c.predicate)
      } else if (!isOfOneSide(c.greater)) {
        operand(c.greater, isLesser = false)(replaced(c.lesser, _)).getOrElse(c.predicate)
      } else c.predicate
    }

    /** What a comparison with an operand stands for; None where the operand does not choose. */
    private def operand(e: Expression, isLesser: Boolean)(
        compare: Expression => Expression): Option[Expression] = e match {
      case Choice(branches) => Some(choose(branches)(compare))
      case Coalesce(values) =>
        val first = values.takeWhile(v => sideOf(v).isDefined && sideOf(v) == sideOf(values.head))
        if (first.isEmpty) None
        else {
          val (value, others) = (coalesce(first), coalesce(values.drop(first.size)))
          Some(or(compare(value), and(IsNull(value), compare(others))))
        }
      case Greatest(values) => Some(if (isLesser) all(values)(compare) else any(values)(compare))
      case Least(values)    => Some(if (isLesser) any(values)(compare) else all(values)(compare))
      case _                => None
    }

    private def any(values: Seq[Expression])(compare: Expression => Expression): Expression =
      values.map(compare).reduce(or)

    /** Not where all of the values are NULL. */
    private def all(values: Seq[Expression])(compare: Expression => Expression): Expression = {
      isEquivalent = false
      values.map(v => orNull(Seq(v), compare(v))).reduce(and)
    }

    private def coalesce(values: Seq[Expression]): Expression =
      if (values.size == 1) values.head else Coalesce(values)
  }

  /** A CASE or an IF, as its conditions and values; the last one is always true. */
  private object Choice {
    def unapply(e: Expression): Option[Seq[(Expression, Expression)]] = condOpt(e) {
      case If(condition, yes, no)    => Seq(condition -> yes, TrueLiteral -> no)
      case CaseWhen(branches, other) => branches ++ other.map(TrueLiteral -> _)
    }
  }

  /** True where a predicate is false or NULL, and only there. */
  private def unlessTrue(e: Expression): Expression = e match {
    case TrueLiteral              => FalseLiteral
    case IsNull(a)                => IsNotNull(a)
    case IsNotNull(a)             => IsNull(a)
    case And(a, b)                => or(unlessTrue(a), unlessTrue(b))
    case Or(a, b)                 => and(unlessTrue(a), unlessTrue(b))
    case LessThan(a, b)           => orNull(Seq(a, b), GreaterThanOrEqual(a, b))
    case LessThanOrEqual(a, b)    => orNull(Seq(a, b), GreaterThan(a, b))
    case GreaterThan(a, b)        => orNull(Seq(a, b), LessThanOrEqual(a, b))
    case GreaterThanOrEqual(a, b) => orNull(Seq(a, b), LessThan(a, b))
    case _ if !e.nullable         => Not(e)
    case _                        => Not(EqualNullSafe(e, TrueLiteral))
  }

  /** True where a predicate is true or NULL, and only there. */
  private def unlessFalse(e: Expression): Expression = e match {
    case And(a, b) => and(unlessFalse(a), unlessFalse(b))
    case Or(a, b)  => or(unlessFalse(a), unlessFalse(b))
    case _: LessThan | _: LessThanOrEqual | _: GreaterThan | _: GreaterThanOrEqual =>
      orNull(e.children, e)
    case _ if !e.nullable => e
    case _                => Not(EqualNullSafe(e, FalseLiteral))
  }

  private def orNull(values: Seq[Expression], predicate: Expression): Expression =
    values.filter(_.nullable).map(IsNull(_)).foldRight(predicate)(or)

  private def or(a: Expression, b: Expression): Expression = (a, b) match {
    case (FalseLiteral, _) => b
    case (_, FalseLiteral) => a
    case (TrueLiteral, _)  => a
    case (_, TrueLiteral)  => b
    case _                 => Or(a, b)
  }

  private def and(a: Expression, b: Expression): Expression = (a, b) match {
    case (TrueLiteral, _)  => b
    case (_, TrueLiteral)  => a
    case (FalseLiteral, _) => a
    case (_, FalseLiteral) => b
    case _                 => And(a, b)
  }
}
