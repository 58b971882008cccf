// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression}
import org.apache.spark.sql.rangejoin.shims.NullIntolerantExpression
import org.apache.spark.sql.types.{DataType, DoubleType}

/**
 * `left + right` of DOUBLEs, with `right` moved on to the next floating-point number, up or down.
 *
 * The end of a range that covers every `y` for which a ''rounded'' difference keeps a limit:
 * where `x - y`, rounded to the nearest, is at most `d`, then exactly `x - y < next(d)`, so that
 * `y > x - next(d)`; rounding does not turn an order around, so that `y >= x - next(d)` rounded.
 *
 * @param up whether to move up, for an end above the values of the range, or down
 * @param single whether the difference is rounded to FLOAT, whose numbers lie further apart
 */
case class WidenedSum(left: Expression, right: Expression, up: Boolean, single: Boolean)
    extends BinaryExpression
    with NullIntolerantExpression {

  override def dataType: DataType = DoubleType

  override protected def nullSafeEval(left: Any, right: Any): Any =
    left.asInstanceOf[Double] + WidenedSum.next(right.asInstanceOf[Double], up, single)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val next = WidenedSum.getClass.getName.stripSuffix("$") + ".next"
    defineCodeGen(ctx, ev, (left, right) => s"$left + $next($right, $up, $single)")
  }

  override def toString: String = s"($left + $right)"

  override def sql: String = s"(${left.sql} + ${right.sql})"

  override protected def withNewChildrenInternal(
      newLeft: Expression,
      newRight: Expression
  ): WidenedSum = copy(left = newLeft, right = newRight)
}

object WidenedSum {

  /** The next DOUBLE, or FLOAT where `single`, above or below a number. */
  def next(number: Double, up: Boolean, single: Boolean): Double =
    if (single) {
      if (up) Math.nextUp(number.toFloat).toDouble else Math.nextDown(number.toFloat).toDouble
    } else if (up) {
      Math.nextUp(number)
    } else {
      Math.nextDown(number)
    }
}
