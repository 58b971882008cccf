// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/**
 * `array_contains(sequence(start, stop), value)`: the value is between the two. A sequence descends where `start` is
 * the greater one, so that its values are between `least` and `greatest`, whatever its step. The predicate is evaluated
 * again for the pairs in between: it knows the step, NULL and errors.
 *
 * Steps of calendar intervals may lead out of the two, and so may months between days, in a time zone that
 * has left out a day.
 */
private[condition] case class SequenceMember(
    start: Expression,
    stop: Expression,
    value: Expression) {

  /** One test in each direction, where the sequence is of one side and the value of the other. */
  def tests(predicate: Expression, sideOf: Expression => Option[Side]): Seq[RangeTest] =
    (sideOf(CreateArray(Seq(start, stop))), sideOf(value)) match {
      case (Some(ends), Some(point)) if ends != point =>
        val (least, greatest) =
          if (Predicates.haveSameValue(start, stop)) (start, start)
          else (Least(Seq(start, stop)), Greatest(Seq(start, stop)))
        def test(lesser: Expression, greater: Expression, side: Side) =
          RangeTest(lesser, greater, side, strict = false, predicate, exact = Inexact)
        Seq(test(least, value, ends), test(value, greatest, point))
      case _ => Nil
    }
}

private[condition] object SequenceMember {

  def unapply(predicate: Expression): Option[SequenceMember] = predicate match {
    case ArrayContains(Cast(s: Sequence, ArrayType(to, _), _, _), value)
        if Arithmetic.widens(s.dataType.elementType, to) && staysWithin(s) =>
      Some(SequenceMember(Cast(s.start, to), Cast(s.stop, to), value))
    case ArrayContains(s: Sequence, value) if staysWithin(s) =>
      Some(SequenceMember(s.start, s.stop, value))
    case _ => None
  }

  private def staysWithin(s: Sequence): Boolean = (s.dataType.elementType, s.stepOpt) match {
    case (_, None) | (_: IntegralType, _)               => true
    case (DateType, Some(step))                         => isDays(step.dataType)
    case (TimestampType | TimestampNTZType, Some(step)) =>
      step.dataType.isInstanceOf[AnsiIntervalType]
    case _ => false
  }

  private def isDays(step: DataType): Boolean = step.isInstanceOf[DayTimeIntervalType]
}
