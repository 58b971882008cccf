// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.condition.MonotoneColumn
import org.apache.spark.sql.rangejoin.kernel.RangeBound

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
