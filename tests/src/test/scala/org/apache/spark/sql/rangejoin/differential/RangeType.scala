// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.rangejoin.kernel.TypesOfLine
import org.apache.spark.sql.types._

/**
 * A type of keys and range columns: its values, plain and extreme, and how a user writes bounds
 * over it. Plain values lie close together, so that ties and matches are many.
 *
 * Values are those of Catalyst. Bounds are SQL; `amount` is an INT column of the same table.
 */
abstract class RangeType(val name: String, val dataType: DataType) {
  def plain(draw: Draw): Any
  def extremes: Seq[Any]

  /** A bound that is mostly at or below the column. */
  def below(column: String, draw: Draw): String

  /** A bound that is mostly at or above the column. */
  def above(column: String, draw: Draw): String

  /** A band whose width is a column; None where the type has none. */
  def band(column: String, amount: String): Option[(String, String)] = None

  /** Differences of two columns that make a range; none where the type has no exact ones. */
  def differences: Seq[Subtraction] = Nil

  /** Sums of two columns that make a range. */
  def sums: Seq[Subtraction] = Nil

  /** Bounds that do not rise with the column. */
  def turning(column: String, amount: String): Seq[String]

  /** Bounds that raise for some values, of the column or of the amount. */
  def raising(column: String, amount: String): Seq[String]

  override def toString: String = name
}

/**
 * A way to write `x - y`.
 *
 * @param of the difference of two columns
 * @param limit a distance, in the unit of the difference
 * @param wraps whether the difference wraps around on overflow where ANSI mode is off, so that
 *   one limit of it is no range
 */
case class Subtraction(
    of: (String, String) => String,
    limit: Int => String,
    wraps: Boolean = false
)

object RangeType {
  import NumericTypes._
  import TextTypes._
  import TimeTypes._

  val all: Seq[RangeType] = Seq(
    Bytes,
    Shorts,
    Ints,
    Longs,
    Floats,
    Doubles,
    Decimals(5, 2),
    Decimals(18, 4),
    Decimals(30, 10),
    Dates,
    Timestamps,
    LocalTimestamps,
    MonthIntervals,
    DayIntervals,
    Booleans,
    Strings(StringType),
    Bytestrings,
    Arrays,
    Structs
  ) ++ TypesOfLine.time.map(Times(_)) ++
    Seq("UTF8_LCASE", "UNICODE", "UNICODE_CI").flatMap(TypesOfLine.collated(_))
      .collect { case collated: StringType => Strings(collated) }

  /** Types that Spark compares with one another, in pairs. */
  val mixed: Seq[(RangeType, RangeType)] = Seq(
    (Bytes, Longs),
    (Shorts, Ints),
    (Ints, Longs),
    (Longs, Shorts),
    (Longs, Doubles),
    (Ints, Floats),
    (Floats, Doubles),
    (Floats, Longs),
    (Decimals(5, 2), Decimals(18, 4)),
    (Decimals(30, 10), Decimals(18, 4)),
    (Decimals(38, 0), Decimals(5, 2)),
    (Ints, Decimals(18, 4)),
    (Decimals(5, 2), Doubles),
    (Dates, Timestamps),
    (Timestamps, LocalTimestamps),
    (LocalTimestamps, Dates),
    (Ints, Numerals),
    (Numerals, Doubles)
  )
}
