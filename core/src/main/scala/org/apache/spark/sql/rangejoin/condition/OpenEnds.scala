// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.PartialFunction.cond
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.kernel.{NullBound, OrderedValue}
import org.apache.spark.sql.rangejoin.shims.TimestampPlusInterval
import org.apache.spark.sql.types.{DataType, DecimalType, StringType}

/**
 * A NULL that stands for "no limit": `until IS NULL OR t < until` is the test `t < until` in which a row
 * without an end passes with every row of the other side.
 *
 * A part of a disjunction that reads one side alone opens that side: where it holds of a row, so does the disjunction,
 * whatever the other row is. So the value of the side becomes NULL where the part holds, and a NULL is the open end
 * ([[NullBound]]). A NULL of the other side is not less than any value, and so passes with open ends only.
 */
private[condition] object OpenEnds {

  /**
   * A test that every pair with an opened row passes.
   *
   * @param opened by side, what opens it: one or more conditions that read the side alone
   * @param exact whether the disjunction says nothing else
   */
  def of(test: RangeTest, opened: Map[Side, Seq[Expression]], exact: Boolean): RangeTest =
    if (opened.isEmpty) test
    else {
      val values = Side.Both.map { side =>
        val value = test.on(side)
        side -> opened.get(side).fold(Value(value, isExact = true))(valueOf(value, _))
      }.toMap
      val nulls = values.map { case (side, _) =>
        side -> (if (opened.contains(side)) NullBound.OpenEnd else NullBound.OpenEndOnly)
      }
      test.copy(
        lesser = values(test.lesserSide).expression,
        greater = values(test.lesserSide.other).expression,
        exact = if (exact && values.values.forall(_.isExact)) test.exact else Inexact,
        nulls = nulls
      )
    }

  /** A value that is NULL where its side is open; if it is not exact, elsewhere as well. */
  private case class Value(expression: Expression, isExact: Boolean)

  private def valueOf(value: Expression, opened: Seq[Expression]): Value = {
    val (byItself, others) = opened.partition(isNullOf(_, value))
    val isExact = byItself.nonEmpty || !value.nullable
    if (others.isEmpty) Value(value, isExact)
    else {
      val open = others.reduce[Expression](Or(_, _))
      // The value of an open row is not computed: errors there are left to the predicate.
      Value(
        If(open, Literal(null, value.dataType), value),
        isExact && Predicates.neverRaises(value))
    }
  }

  /** Whether a condition is that a value is NULL. */
  def isNullOf(condition: Expression, value: Expression): Boolean =
    cond(condition) { case IsNull(e) => isNullWith(value, e) }

  /**
   * Whether a condition holds of all rows except at the end of a type, or where the value is NULL: `t < t + 1`, from
   * the default in `t < coalesce(until, t + 1)`. A test that it opens would exclude nothing.
   */
  def isUsual(condition: Expression, value: Expression): Boolean = condition match {
    case IsNotNull(e) => isNullWith(value, e)
    case _            => ofMoved(condition).contains(true)
  }

  /** Whether a condition holds of no row except at the end of a type: `t < t - 1`. */
  def isUnusual(condition: Expression): Boolean = ofMoved(condition).contains(false)

  /** A comparison of a value with itself, one of them moved by a constant, is the same of nearly all values. */
  private def ofMoved(condition: Expression): Option[Boolean] =
    for {
      c <- Comparison.of(condition)
      value = carried(c.lesser)
      if Predicates.haveSameValue(value, carried(c.greater))
      holds <- Try(sampled(condition, value)).toOption
    } yield holds

  private def sampled(condition: Expression, value: Expression): Boolean =
    java.lang.Boolean.TRUE == condition.transformDown {
      case e if e.semanticEquals(value) => Literal.default(value.dataType)
    }.eval()

  /** Whether an expression is NULL where another one is, and nowhere else. */
  private def isNullWith(e: Expression, other: Expression): Boolean =
    Predicates.haveSameValue(carried(e), carried(other))

  /** What an expression is NULL with: its operand, where the others are constants. */
  def carried(e: Expression): Expression = e match {
    case OrderedValue(child)                            => carried(child)
    case Cast(child, to, _, _) if keepsNulls(child, to) => carried(child)
    case a @ Add(child, step, _) if isStep(step) && keepsNulls(a.dataType, a.evalMode) =>
      carried(child)
    case s @ Subtract(child, step, _) if isStep(step) && keepsNulls(s.dataType, s.evalMode) =>
      carried(child)
    case TimestampPlusInterval(child, step) if isStep(step) => carried(child)
    case DateAdd(child, step) if isStep(step)               => carried(child)
    case AddMonths(child, step) if isStep(step)             => carried(child)
    case DateAddYMInterval(child, step) if isStep(step)     => carried(child)
    case DateSub(child, step) if isStep(step)               => carried(child)
    case _                                                  => e
  }

  private def keepsNulls(child: Expression, to: DataType): Boolean =
    Cast.canUpCast(child.dataType, to) && !child.dataType.isInstanceOf[StringType]

  private def isStep(e: Expression): Boolean = cond(e) { case Literal(value, _) => value != null }

  /** Decimals overflow to NULL in a sum. */
  private def keepsNulls(sum: DataType, mode: EvalMode.Value): Boolean =
    mode != EvalMode.TRY && !sum.isInstanceOf[DecimalType]

  /**
   * A test in which a NULL matches nothing, where that follows from another part of the condition: `t` is
   * not NULL where `t >= since` holds. Then rows may stay in the order of `t`, in which NULL comes first.
   */
  def withoutNulls(test: RangeTest, predicates: Seq[Expression]): RangeTest =
    if (!test.hasOpenEnds) test
    else {
      val notNull = predicates.filterNot(_.eq(test.predicate)).flatMap(Comparison.of(_))
        .flatMap(c => Seq(c.lesser, c.greater)).map(carried)
      def isNotNull(side: Side) =
        notNull.exists(Predicates.haveSameValue(_, carried(test.on(side))))
      test.copy(nulls = test.nulls.map { case (side, meaning) =>
        side -> (if (isNotNull(side)) NullBound.NoMatch else meaning)
      })
    }
}
