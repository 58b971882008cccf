// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.CalendarInterval

import org.scalatest.funsuite.AnyFunSuite

/** A value among those of a sequence is between its ends, whichever of them is the greater. */
class SequenceMemberSuite extends AnyFunSuite with TwoSides {
  private val Zone = Some("America/Los_Angeles")
  private val ints: Seq[Any] = Seq(null, -3, 0, 1, 2, 5)

  private def contains(s: Expression, value: Expression): Expression = ArrayContains(s, value)

  private def sequence(start: Expression, stop: Expression, step: Option[Expression] = None) =
    Sequence(start, stop, step, Zone)

  test("ends of one side and a value of the other, whichever way the sequence runs") {
    val found = range(contains(sequence(l.start, l.end), r.y))
    assert(!found.isOneSided && found.streamed == LeftSide && found.residual.nonEmpty)
    assert(Form.of(found).lower.startsWith("least(") && Form.of(found).upper.contains("greatest("))
    assertSameMeaning(contains(sequence(l.start, l.end), r.y), ints)
    assertSameMeaning(contains(sequence(r.start, r.end), l.y), ints)
    assertSameMeaning(contains(sequence(r.start, r.start), l.y), ints)
    assertSameMeaning(contains(sequence(l.start, plus(l.start, Literal(2))), r.y), ints)
    assertSameMeaning(contains(sequence(Literal(0), l.end), r.y) && l.y <= r.z, ints)
  }

  test("a step, which raises where it does not lead from start to stop") {
    for (step <- Seq(2, 1, -1, -2, 0).map(Literal(_)))
      assertSameMeaning(contains(sequence(l.start, l.end, Some(step)), r.y), ints)
    assertSameMeaning(contains(sequence(l.start, l.end, Some(l.z)), r.y), ints)
  }

  test("a value of a wider type") {
    val (narrow, wide) = (new Columns("l", ByteType), new Columns("r", LongType))
    val cast = Cast(sequence(narrow.start, narrow.end), ArrayType(LongType, containsNull = false))
    val found = range(contains(cast, wide.y))
    assert(!found.isOneSided && found.upperTest.exists(_.greater.dataType == LongType))
  }

  test("days, and times by ANSI intervals") {
    val (days, later) = (new Columns("l", DateType), new Columns("r", DateType))
    val dates: Seq[Any] = Seq(null, 19780, 19781, 19790, 19812, 19840)
    val day = Literal(86400000000L, DayTimeIntervalType())
    for (step <- Seq(None, Some(day)))
      assertSameMeaning(contains(sequence(days.start, days.end, step), later.y), dates)
    val times: Seq[Any] = Seq(0L, 3600L, 86400L, 26 * 3600L, 90 * 86400L)
      .map(seconds => 1709971200000000L + seconds * 1000000) // 2024-03-09 08:00 UTC
    val month = Literal(1, YearMonthIntervalType())
    for (dataType <- Seq(TimestampType, TimestampNTZType);
      step <- Seq(None, Some(day), Some(month))) {
      val (l, r) = (new Columns("l", dataType), new Columns("r", dataType))
      assertSameMeaning(contains(sequence(l.start, l.end, step), r.y), times)
    }
  }

  test("what may lead out of the two is no range, nor are ends of both sides") {
    val days = new Columns("l", DateType)
    val month = Literal(1, YearMonthIntervalType())
    val mixed = Literal(new CalendarInterval(1, -29, 0L))
    val day = new Columns("r", DateType).y
    for (step <- Seq(month, mixed))
      assert(extract(contains(sequence(days.start, days.end, Some(step)), day)).isLeft)
    assert(extract(contains(sequence(l.start, r.end), r.y)).isLeft)
    assert(extract(contains(sequence(l.start, l.end), plus(l.y, r.y))).isLeft)
    assert(extract(contains(CreateArray(Seq(l.start, l.end)), r.y)).isLeft)
    assert(extract(Not(contains(sequence(l.start, l.end), r.y))).isLeft)
  }

  test("it is worth a look") {
    assert(RangeExtractor.hasComparison(contains(sequence(l.start, l.end), r.y)))
    assert(!RangeExtractor.hasComparison(contains(CreateArray(Seq(l.start, l.end)), r.y)))
  }
}
