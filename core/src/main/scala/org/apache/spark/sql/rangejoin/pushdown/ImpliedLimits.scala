// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.rangejoin.condition.{RangeCondition, Side}
import org.apache.spark.sql.rangejoin.kernel.RangeBound
import org.apache.spark.sql.types.{BinaryType, DecimalType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * What a range says of one side if values of the other are known: with `r.t <= l.t + 10` and `l.t <= 100` only rows
 * with `r.t <= 110` match.
 */
object ImpliedLimits {

  /**
   * Predicates, each of a column and a literal, that hold for all rows of a side that can match.
   *
   * @param known of columns of either side
   */
  def of(
      range: RangeCondition,
      side: Side,
      known: Attribute => KnownValues): Seq[BinaryComparison] = {
    def rising(bound: Option[RangeBound]) = bound.flatMap(RisingBound.of)
    def atLeast(bound: Option[RangeBound], other: Option[RangeBound]) =
      for (b <- rising(bound); o <- rising(other); l <- o.least(known(o.column)))
        yield b.atLeast(l)
    def atMost(bound: Option[RangeBound], other: Option[RangeBound]) =
      for (b <- rising(bound); o <- rising(other); l <- o.greatest(known(o.column)))
        yield b.atMost(l)
    // The tests are `sort <= upper` and `evict >= lower`: see RangeCondition.
    val limits =
      if (side == range.streamed) {
        atLeast(range.upperBound, range.sortBound) ++ atMost(range.lowerBound, range.evictBound)
      } else {
        atLeast(range.evictBound, range.lowerBound) ++ atMost(range.sortBound, range.upperBound)
      }
    (MatchableValues.sound(limits.collect { case SomeValues(predicate) => predicate }.toSeq) ++
      compared(range, side, known)).filterNot(isKnown(_, known))
  }

  /** For plain columns whose values cannot be numbered: the limit itself. */
  private def compared(
      range: RangeCondition,
      side: Side,
      known: Attribute => KnownValues): Seq[BinaryComparison] =
    (range.upperTest.toSeq ++ range.lowerTest).filterNot(_.hasOpenEnds).flatMap { test =>
      (test.lesser, test.greater) match {
        case (lesser: Attribute, greater: Attribute) if isCompared(lesser, greater) =>
          def literal(value: Any) = Literal(value, lesser.dataType)
          if (side == test.lesserSide) {
            known(greater).greatest.filter(isText).map(v => LessThanOrEqual(lesser, literal(v)))
          } else
            known(lesser).least.filter(isText).map(v => GreaterThanOrEqual(greater, literal(v)))
        case _ => None
      }
    }

  private def isCompared(lesser: Attribute, greater: Attribute): Boolean =
    lesser.dataType == greater.dataType && (lesser.dataType match {
      case StringType | BinaryType => true
      case decimal: DecimalType    => NumberedValues.of(decimal).isEmpty
      case _                       => false
    })

  /**
   * Whether a value survives as a string of Java, in which Spark hands it to a source: bytes that are no UTF-8 do not.
   */
  private def isText(value: Any): Boolean = value match {
    case string: UTF8String => UTF8String.fromString(string.toString) == string
    case _                  => true
  }

  private def isKnown(predicate: BinaryComparison, known: Attribute => KnownValues): Boolean = {
    def compared(column: Attribute, value: Any, to: KnownValues => Option[Any]) = {
      val ordering = TypeUtils.getInterpretedOrdering(column.dataType)
      to(known(column)).map(ordering.compare(_, value))
    }
    predicate match {
      case GreaterThanOrEqual(a: Attribute, Literal(v, _)) => compared(a, v, _.least).exists(_ >= 0)
      case LessThanOrEqual(a: Attribute, Literal(v, _)) => compared(a, v, _.greatest).exists(_ <= 0)
      case _                                            => false
    }
  }
}
