// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{
  CodeGenerator,
  CodegenContext,
  ExprCode,
  ExprValue,
  FalseLiteral,
  JavaCode
}
import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression}
import org.apache.spark.sql.rangejoin.shims.NullIntolerantExpression
import org.apache.spark.sql.types.{DataType, DoubleType, LongType}

/**
 * One side of a range test as an order-preserving long that is evaluated without raising.
 *
 * Stock Spark evaluates `l.t + 10` only for pairs whose keys match, so a bound that is evaluated
 * for every row must not raise. Where the child raises, or `trusted` does not hold, the bound is
 * '''unknown''': it takes the extreme of the encoding that excludes no pair. The scanner hands
 * every pair with a bound at that extreme to the join's original condition, which then matches,
 * rejects or raises as stock does.
 *
 * @param child value of the bound, of any type that Spark can order
 * @param trusted a condition without which the value of `child` says nothing
 * @param unboundedBelow whether unknown means the smallest long (a lower bound of the streamed
 *   side, or the sort bound of the buffered side) or the greatest
 * @param strict whether the test excludes equality. Only a bound of the streamed side is strict: it is moved by one,
 *   unless it is at the extreme. There it equals only bounds that may be unknown, and the original condition decides
 *   those pairs. Not for a type whose encoding is a prefix: there the values decide where the longs are equal.
 * @param nulls what a NULL of `child` means, where NULL is the open end of either side of the test
 *   ([[NullBound]]); None where such a row matches nothing
 */
case class RangeBound(
    child: Expression,
    trusted: Option[Expression],
    unboundedBelow: Boolean,
    strict: Boolean,
    nulls: Option[NullBound] = None
) extends Guarded {
  require(isLossless || (!strict && trusted.isEmpty), "a prefix has no next value, and no guard")
  require(
    isLossless || nulls.forall(_ == NullBound.Unknown),
    "a prefix leaves no long for an open end")

  /** Whether equal longs are equal values. */
  def isLossless: Boolean = OrderedLong.isLossless(child.dataType)

  /**
   * What rows are sorted by to be in the order of this bound, where unknown means the smallest:
   * the bound itself, or the value that it is a prefix of.
   */
  def sortKey: Expression = prefixedValue.getOrElse(this)

  /** The value that the bound is a prefix of; None if the bound is the whole value. */
  def prefixedValue: Option[Expression] = if (isLossless) None else Some(GuardedValue(child))

  override def children: Seq[Expression] = child +: trusted.toSeq

  override def dataType: DataType = LongType

  override def nullable: Boolean = child.nullable && longOfNull.isEmpty

  /** Whether a row with a NULL may match. */
  def readsNull: Boolean = child.nullable && longOfNull.isDefined

  private def longOfNull: Option[Long] = nulls.flatMap {
    case NullBound.OpenEnd                        => Some(if (unboundedBelow) Low else High)
    case NullBound.OpenEndOnly                    => Some(if (unboundedBelow) High else Low)
    case NullBound.BehindValues                   => Some(RangeBound.BehindValues)
    case NullBound.BeforeValues                   => Some(RangeBound.BeforeValues)
    case NullBound.Unknown | NullBound.OutOfOrder => Some(unknown)
    case NullBound.NoMatch                        => None
  }

  // Next to the extremes, which stand for unknown bounds.
  private def Low: Long = Long.MinValue + 1
  private def High: Long = Long.MaxValue - 1

  /** Whether the longs next to the extremes stand for open ends, and for no value. */
  private def hasOpenEnds: Boolean = nulls.exists(_ != NullBound.Unknown)

  override def eval(input: InternalRow): Any =
    try {
      // As in Spark's own predicates, NULL is not true.
      if (trusted.forall(t => java.lang.Boolean.TRUE == t.eval(input))) {
        val value = child.eval(input)
        if (value == null) longOfNull.map(Long.box).orNull
        else besideReserved(moved(OrderedLong.encode(value, child.dataType)))
      } else {
        unknown
      }
    } catch {
      case e: Throwable =>
        Guarded.rethrowUnlessOfData(e)
        unknown
    }

  private def unknown: Long = if (unboundedBelow) Long.MinValue else Long.MaxValue

  private def lastStep: Long = if (unboundedBelow) Long.MaxValue else Long.MinValue

  private def moved(value: Long): Long =
    if (!strict || value == lastStep) value
    else if (unboundedBelow) value + 1
    else value - 1

  /** Keeps a value from being taken for an open end; see `beforeNulls` and `besideOpenEnds`. */
  private def besideReserved(value: Long): Long =
    if (isBeforeNulls) RangeBound.beforeNulls(value)
    else if (isBehindNulls) RangeBound.behindNulls(value)
    else if (hasOpenEnds) RangeBound.besideOpenEnds(value, unboundedBelow)
    else value

  private def isBeforeNulls: Boolean =
    nulls.exists(n => n == NullBound.BehindValues || n == NullBound.OutOfOrder)

  private def isBehindNulls: Boolean = nulls.contains(NullBound.BeforeValues)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val isNull = if (nullable) JavaCode.isNullVariable(ctx.freshName("isNull")) else FalseLiteral
    val declareNull = if (nullable) s"boolean $isNull = false;" else ""
    val error = ctx.freshName("error")
    ev.copy(
      code = code"""
        |$declareNull
        |${CodeGenerator.JAVA_LONG} ${ev.value} = 0L;
        |try {
        |  ${trustedCode(ctx, ev.value, valueCode(ctx, ev.value, isNull))}
        |} catch (Throwable $error) {
        |  ${Guarded.rethrowUnlessOfDataCode(error)}
        |  ${ev.value} = ${literal(unknown)};
        |}
      """.stripMargin,
      isNull = isNull
    )
  }

  /** Sets the result to the long of the value. */
  private def valueCode(ctx: CodegenContext, result: ExprValue, isNull: ExprValue): String = {
    val value = child.genCode(ctx)
    val encoded = OrderedLong.encodeCode(value.value.toString, child.dataType)
    val set = if (strict) movedCode(ctx, result, encoded) else s"$result = $encoded;"
    val setToValue = s"$set${placedCode(result)}"
    if (!child.nullable) s"${value.code}\n$setToValue"
    else {
      val setToNull = longOfNull.fold(s"$isNull = true;")(long => s"$result = ${literal(long)};")
      s"""
         |${value.code}
         |if (${value.isNull}) { $setToNull } else { $setToValue }
       """.stripMargin
    }
  }

  private def movedCode(ctx: CodegenContext, result: ExprValue, encoded: String): String = {
    val long = ctx.freshName("encoded")
    val step = if (unboundedBelow) "+" else "-"
    s"""
       |long $long = $encoded;
       |$result = $long == ${literal(lastStep)} ? $long : $long $step 1L;
     """.stripMargin
  }

  private def placedCode(result: ExprValue): String = {
    val self = RangeBound.getClass.getName.stripSuffix("$")
    if (isBeforeNulls) s"\n$result = $self.beforeNulls($result);"
    else if (isBehindNulls) s"\n$result = $self.behindNulls($result);"
    else if (hasOpenEnds) s"\n$result = $self.besideOpenEnds($result, $unboundedBelow);"
    else ""
  }

  /** The code that sets the result to the long of the value, where that is trusted. */
  private def trustedCode(ctx: CodegenContext, result: ExprValue, setToValue: String): String =
    trusted.fold(setToValue) { t =>
      val guard = t.genCode(ctx)
      s"""
         |${guard.code}
         |if (!${guard.isNull} && ${guard.value}) {
         |  $setToValue
         |} else {
         |  $result = ${literal(unknown)};
         |}
       """.stripMargin
    }

  // Long.MinValue has no literal of its own in Java without the sign being part of it.
  private def literal(value: Long): String =
    if (value == Long.MinValue) "Long.MIN_VALUE" else s"${value}L"

  // In EXPLAIN, the value that a user knows.
  override def toString: String = child.toString

  override def sql: String = child.sql

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): RangeBound =
    copy(child = newChildren.head, trusted = newChildren.lift(1))
}

object RangeBound {

  /** The long of a NULL that comes behind all values. */
  final val BehindValues = Long.MaxValue - 1

  /** The long of a NULL that comes before all values, as Spark sorts it. */
  final val BeforeValues = Long.MinValue + 1

  /** The longs of values that have NULL before them, and the open end of the other side behind them. */
  final val LeastBehindNulls = BeforeValues + 1
  final val GreatestBehindNulls = Long.MaxValue - 1

  /** The long of a value that has NULL before it. */
  def behindNulls(value: Long): Long =
    math.max(LeastBehindNulls, math.min(value, GreatestBehindNulls))

  /** The long of a value that has NULL behind it. */
  def beforeNulls(value: Long): Long = math.min(value, BehindValues - 1)

  /**
   * The long of a value where the longs next to the extremes stand for open ends. A value that would be taken for the
   * open end of its own side is unknown. At the other end it becomes a long that no value of the other side reaches,
   * but its open end does.
   */
  def besideOpenEnds(value: Long, unboundedBelow: Boolean): Long =
    if (value >= Long.MaxValue - 1) {
      if (unboundedBelow) Long.MaxValue - 1 else Long.MaxValue
    } else if (value <= Long.MinValue + 1) {
      if (unboundedBelow) Long.MinValue else Long.MinValue + 1
    } else {
      value
    }
}

/**
 * What a NULL bound means, in a test in which NULL is the open end of a side, as in `until IS NULL OR t < until`.
 */
sealed trait NullBound

object NullBound {

  /** It is the open end of its side: every row of the other side passes. */
  case object OpenEnd extends NullBound

  /** Only open ends of the other side pass; no value does. */
  case object OpenEndOnly extends NullBound

  /** It passes, as all values do, and comes behind them. */
  case object BehindValues extends NullBound

  /** It passes, as all values do, and comes before them. */
  case object BeforeValues extends NullBound

  /** Its position is unknown; all values are before the open end of the other side. */
  case object OutOfOrder extends NullBound

  /** The original condition decides about every pair. */
  case object Unknown extends NullBound

  /** Such a row matches nothing, since another part of the condition does not hold for it. */
  case object NoMatch extends NullBound
}

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
