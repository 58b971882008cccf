// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import scala.PartialFunction.cond

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.condition.{Distance, MonotoneColumn, RangeCondition}
import org.apache.spark.sql.rangejoin.index.CoveredRanges
import org.apache.spark.sql.rangejoin.kernel.RangeBound
import org.apache.spark.sql.types._

/**
 * A bound of a row that rises with a column. The values for which it is within a limit are found by bisecting the
 * column's type, whatever the bound computes.
 *
 * A value whose bound is unknown counts as within every limit. Such values lie at the ends of the type, which are
 * checked first: if the far end is within the limit, the limit excludes nothing (`AllValues`).
 */
private[pushdown] final class RisingBound private (
    val column: Attribute,
    bound: RangeBound,
    values: NumberedValues
) {
  private val ofColumn = BindReferences.bindReference(bound, Seq(column))

  /** Of a lower bound: where it is at most this. */
  def atMost(greatest: Long): ColumnLimit = {
    def isWithin(number: Long) = boundOf(number).forall(_ <= greatest)
    if (isWithin(values.last)) AllValues
    else if (!isWithin(values.first)) NoValue
    else limit(halve(isWithin, values.first, values.last)._1) { value =>
      LessThanOrEqual(column, Literal(value, column.dataType))
    }
  }

  /** Of an upper bound: where it is at least this. */
  def atLeast(least: Long): ColumnLimit = {
    def isWithin(number: Long) = boundOf(number).forall(_ >= least)
    if (isWithin(values.first)) AllValues
    else if (!isWithin(values.last)) NoValue
    else limit(halve(!isWithin(_), values.first, values.last)._2) { value =>
      GreaterThanOrEqual(column, Literal(leastOfEqual(value), column.dataType))
    }
  }

  /** The least that the bound is for the values of a column. */
  def least(known: KnownValues): Option[Long] = ends(known).map { case (a, b) => math.min(a, b) }

  /** The greatest. */
  def greatest(known: KnownValues): Option[Long] =
    ends(known).map { case (a, b) => math.max(a, b) }

  /**
   * The bounds at the least and the greatest value; if the bound is unknown for any value, it is unknown at one of
   * these.
   */
  private def ends(known: KnownValues): Option[(Long, Long)] = {
    def at(value: Option[Any], otherwise: Long) =
      value.fold(boundOf(otherwise))(boundOf(_))
    for {
      first <- at(known.least, values.first)
      last <- at(known.greatest, values.last)
    } yield (first, last)
  }

  private def limit(number: Long)(predicate: Any => BinaryComparison): ColumnLimit =
    if (number < values.firstLiteral || number > values.lastLiteral) AllValues
    else SomeValues(predicate(values.at(number)))

  /** Statistics may tell zeros apart, which are equal. */
  private def leastOfEqual(value: Any): Any = value match {
    case zero: Double if zero == 0.0 => -0.0
    case zero: Float if zero == 0.0f => -0.0f
    case other                       => other
  }

  private def boundOf(number: Long): Option[Long] = boundOf(values.at(number))

  private def boundOf(value: Any): Option[Long] =
    Option(ofColumn.eval(InternalRow(value))).map(_.asInstanceOf[Long])

  /**
   * Bisects: the last number for which `holds` is true, and the next one. It is true for `from` and false for `until`.
   */
  private def halve(holds: Long => Boolean, from: Long, until: Long): (Long, Long) = {
    var low = from
    var high = until
    while (low + 1 != high) {
      // The distance may be more than the greatest long.
      val middle = low + ((high - low) >>> 1)
      if (holds(middle)) low = middle else high = middle
    }
    (low, high)
  }
}

private[pushdown] object RisingBound {

  def of(bound: RangeBound): Option[RisingBound] =
    for {
      column <- MonotoneColumn.of(bound)
      values <- NumberedValues.of(column.dataType)
    } yield new RisingBound(column, bound, values)
}

/**
 * The values of a type in their order, numbered.
 *
 * @param firstLiteral the first that a predicate may name. Days and times before 1900 may be of another calendar in a
 *   file, and later than the year 9999 some formats and classes cannot hold them
 */
private[pushdown] final class NumberedValues private (
    val first: Long,
    val last: Long,
    val firstLiteral: Long,
    val lastLiteral: Long)(
    val at: Long => Any)

private[pushdown] object NumberedValues {

  private val FirstDay = java.time.LocalDate.of(1900, 1, 3).toEpochDay
  private val LastDay = java.time.LocalDate.of(9999, 12, 30).toEpochDay
  private val MicrosPerDay = 86400000000L

  def of(dataType: DataType): Option[NumberedValues] = dataType match {
    case ByteType    => Some(all(Byte.MinValue, Byte.MaxValue)(_.toByte))
    case ShortType   => Some(all(Short.MinValue, Short.MaxValue)(_.toShort))
    case IntegerType => Some(all(Int.MinValue, Int.MaxValue)(_.toInt))
    case LongType    => Some(all(Long.MinValue, Long.MaxValue)(n => n))
    case FloatType   => Some(all(ofFloat(Float.NegativeInfinity), ofFloat(Float.NaN))(floatAt))
    case DoubleType  => Some(all(ofDouble(Double.NegativeInfinity), ofDouble(Double.NaN))(doubleAt))
    case DateType    =>
      Some(new NumberedValues(Int.MinValue, Int.MaxValue, FirstDay, LastDay)(_.toInt))
    case TimestampType | TimestampNTZType =>
      val (first, last) = (FirstDay * MicrosPerDay, LastDay * MicrosPerDay)
      Some(new NumberedValues(Long.MinValue, Long.MaxValue, first, last)(n => n))
    case decimal: DecimalType if decimal.precision <= Decimal.MAX_LONG_DIGITS =>
      val last = BigInt(10).pow(decimal.precision).toLong - 1
      Some(all(-last, last)(Decimal(_, decimal.precision, decimal.scale)))
    case _ => None
  }

  private def all(first: Long, last: Long)(at: Long => Any) =
    new NumberedValues(first, last, first, last)(at)

  private def ofDouble(value: Double): Long = turned(java.lang.Double.doubleToLongBits(value))

  private def doubleAt(number: Long): Double = java.lang.Double.longBitsToDouble(turned(number))

  private def turned(bits: Long): Long = bits ^ ((bits >> 63) & Long.MaxValue)

  private def ofFloat(value: Float): Long = turned(java.lang.Float.floatToIntBits(value))

  private def floatAt(number: Long): Float = java.lang.Float.intBitsToFloat(turned(number.toInt))

  private def turned(bits: Int): Int = bits ^ ((bits >> 31) & Int.MaxValue)
}

/**
 * What holds for every streamed row that is in the range of any row of an index, as predicates of its
 * columns and literals: a scan can hold them against the statistics of files.
 */
object MatchableValues {

  /**
   * Predicates in the order of preference: one that says the whole range, then weaker ones of one column each, for
   * scans that lack a column of the first.
   */
  def of(range: RangeCondition, covered: CoveredRanges): Seq[Expression] = {
    val lower = range.lowerBound.flatMap(RisingBound.of)
    val upper = range.upperBound.flatMap(RisingBound.of)
    val intervals = covered.intervals
    if (intervals.isEmpty) Nil
    else {
      val all = Seq(intervals.head._1 -> intervals.last._2)
      val ways = (lower, upper) match {
        case (Some(a), Some(b)) if a.column.semanticEquals(b.column) =>
          Seq(either(intervals, lower, upper))
        case (Some(_), Some(_)) =>
          Seq(either(intervals, lower, upper), either(all, lower, None), either(all, None, upper))
        case _ => Seq(either(all, lower, upper))
      }
      ways.flatten.distinct
    }
  }

  /** The row is in one of the intervals; None where any row may be. */
  private def either(
      intervals: Seq[(Long, Long)],
      lower: Option[RisingBound],
      upper: Option[RisingBound]
  ): Option[Expression] = {
    val parts = for {
      (low, high) <- intervals
      limits = lower.map(_.atMost(high)).toSeq ++ upper.map(_.atLeast(low))
      if !limits.contains(NoValue)
    } yield sound(limits.collect { case SomeValues(predicate) => predicate })
    if (parts.isEmpty || parts.exists(_.isEmpty)) None
    else Some(parts.map(_.reduce[Expression](And(_, _))).reduce[Expression](Or(_, _)))
  }

  /**
   * Statistics of a file leave NaN out, which is greater than all: a least value may rule it out only
   * where a greatest one does.
   */
  private[pushdown] def sound(limits: Seq[BinaryComparison]): Seq[BinaryComparison] =
    limits.filter {
      case GreaterThanOrEqual(column, literal) if Distance.isFloating(literal.dataType) =>
        limits.exists(cond(_) { case LessThanOrEqual(other, _) => other.semanticEquals(column) })
      case _ => true
    }
}
