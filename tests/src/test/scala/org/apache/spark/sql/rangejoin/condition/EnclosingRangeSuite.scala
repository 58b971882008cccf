// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.util.Right

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.LeftOuter
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** Ranges joined by OR. */
class EnclosingRangeSuite extends AnyFunSuite with TwoSides {
  private val two = Literal(2)
  private val ints: Seq[Any] = Seq(null, 0, 1, 2, 3, Int.MaxValue, Int.MinValue)

  private val either = between(l.y, r.start, r.end) || between(l.y, r.low, r.high)

  private def formOf(condition: Expression): Form = Form.of(range(condition))

  test("a point in one interval or another is between the least start and the greatest end") {
    val form = formOf(either)
    assert(form.residual.contains(either.sql))
    assert(Set(form.lower, form.upper) ==
      Set("least(r.start, r.low) <= l.y", "l.y <= greatest(r.end, r.high)"))
    assert(range(either).predicates == Seq(either))
  }

  test("both ends of one value come before an enclosing range, wherever they stand") {
    val exact = between(l.y, r.low, r.high)
    val enclosing = (l.z === r.start) || (l.z === r.end)
    for (both <- Seq(exact && enclosing, enclosing && exact)) {
      val form = formOf(both)
      assert(Set(form.lower, form.upper) == Set("r.low <= l.y", "l.y <= r.high"), both.sql)
      assert(form.residual.contains(enclosing.sql), both.sql)
    }
    // Ends of values that have nothing to do with each other do not.
    val loose = l.y <= r.low && l.z >= r.z
    assert(range(enclosing && loose).predicates.contains(enclosing))
  }

  test("a disjunction of very many parts, and ends with a subquery, have no enclosing range") {
    val many = (1 to 40).map(i => l.y === plus(r.y, Literal(i))).reduce[Expression](Or(_, _))
    val one = l.z <= r.start
    assert(range(many && one).predicates == Seq(one))
    val subquery = ScalarSubquery(
      LocalRelation(AttributeReference("v", IntegerType)()))
    val withSubquery = between(l.y, r.low, subquery) || between(l.y, r.low, r.high)
    val form = formOf(withSubquery)
    assert(Set(form.lower, form.upper) == Set("r.low <= l.y", ""))
  }

  test("what NULL there is in a part says nothing against another part") {
    val few: Seq[Any] = Seq(null, 0, 2, Int.MaxValue)
    assertSameMeaning(either, few)
    assertSameMeaning(between(r.y, l.start, l.end) || r.y === l.y, ints)
  }

  test("inverted parts, strict parts, parts of one end, and the same part twice") {
    assertSameMeaning(between(l.y, r.end, r.start) || l.y < r.start && l.y > r.end, ints)
    assertSameMeaning((l.y < r.start) || (l.y < r.end), ints)
    assertSameMeaning((l.y < r.start) || (l.y <= r.end), ints)
    assertSameMeaning((l.y < r.start) || (l.y < r.start), ints)
    assert(formOf((l.y < r.start) || (l.y < r.end)).residual.nonEmpty)
    assert(Seq("l.y < greatest(r.start, r.end)", "").toSet ==
      Set(formOf((l.y < r.start) || (l.y < r.end))).flatMap(f => Set(f.lower, f.upper)))
  }

  test(
    "sums of the same terms in another order are two ends: rounded or raising, they may differ") {
    val one = plus(plus(r.start, r.end), r.low)
    val other = plus(plus(r.start, r.low), r.end)
    assert(one.semanticEquals(other))
    val form = formOf((l.y >= one) || (l.y > other))
    assert(Set(form.lower, form.upper) == Set(s"least(${one.sql}, ${other.sql}) <= l.y", ""))
  }

  test("parts that are differences, sums, conditions of one side, and disjunctions themselves") {
    val near = between(minus(l.y, r.y), -two, two)
    assertSameMeaning(near || between(l.y, r.y, r.z), ints)
    assertSameMeaning((l.z > two && near) || (r.z < two && l.y === r.y), ints)
    assertSameMeaning(between(plus(l.y, r.y), two, Literal(3)) || l.y === r.y, ints)
    assertSameMeaning((l.y < r.start && (l.y > r.end || l.y === r.start)) || l.y === r.end, ints)
  }

  test("rows that a part does not trust are not in the enclosing range") {
    val wrapped = between(wrappedMinus(l.y, r.y), -two, two)
    assertSameMeaning(wrapped || l.y === r.y, ints)
    assertSameMeaning(wrapped || between(wrappedMinus(l.y, r.y), Literal(5), Literal(7)), ints)
    val form = formOf(wrapped || between(wrappedMinus(l.y, r.y), Literal(5), Literal(7)))
    assert(form.trusted.nonEmpty)
  }

  test("doubles: NaN and infinity") {
    val (l, r) = (new Columns("l", DoubleType), new Columns("r", DoubleType))
    val doubles: Seq[Any] = Seq(null, Double.NaN, Double.NegativeInfinity, -0.0, 0.0, 1.5)
    assertSameMeaning(between(l.y, r.start, r.end) || l.y === r.y, doubles)
    assertSameMeaning(l.y <= r.start || l.y < r.end, doubles)
    assertSameMeaning(Subtract(l.y, r.y, EvalMode.LEGACY) >= Literal(1.0) || l.y >= r.z, doubles)
    val (a, b) = (new Columns("l", FloatType), new Columns("r", FloatType))
    val floats: Seq[Any] = Seq(null, Float.NaN, Float.PositiveInfinity, -0f, 0f, 0.1f, 0.2f)
    assertSameMeaning(
      Add(a.y, b.y, EvalMode.LEGACY) <= Literal(0.3f) || b.z <= a.y,
      floats)
  }

  test("strings, of which bounds are prefixes") {
    val (l, r) = (new Columns("l", StringType), new Columns("r", StringType))
    val strings: Seq[Any] = null +: Seq("", "common prefix", "common prefix 1", "common prefix 2")
      .map(UTF8String.fromString)
    assertSameMeaning(between(l.y, r.start, r.end) || l.y === r.y, strings)
    assertSameMeaning(l.y < r.start || l.y < r.end, strings)
  }

  test("a bound that raises in one part is unknown, and the condition decides") {
    val raising = Divide(Cast(Literal(6), DoubleType), Cast(r.z, DoubleType), EvalMode.ANSI)
    val (x, y) = (Cast(l.y, DoubleType), Cast(r.y, DoubleType))
    assertSameMeaning(between(x, y, raising) || x === y, Seq(null, 0, 1, 2, 6))
  }

  test("what is a conjunct is taken before what is joined by OR") {
    val form = formOf(either && between(l.z, r.start, r.end))
    assert(Set(form.lower, form.upper) == Set("r.start <= l.z", "l.z <= r.end"))
    assert(form.residual.contains(either.sql))
    assertSameMeaning((l.y < r.y || l.y < r.z) && l.y > r.y, ints)
  }

  test("it is the same whichever side is streamed") {
    for (side <- Seq[Side](LeftSide, RightSide)) {
      assert(extract(either, LeftOuter, Some(side)).map(_.streamed) == Right(side))
    }
  }

  test("a part that reads one side alone opens that side") {
    for (open <-
        Seq(IsNull(r.end), IsNull(l.y), r.z > two, IsNull(r.z) && r.low < two, l.z === two)) {
      assertSameMeaning(open || l.y < r.end, ints)
      assertSameMeaning(open || between(l.y, r.start, r.end), ints)
    }
    assert(range(IsNull(r.end) || l.y < r.end).residual.isEmpty)
    assert(range((r.z > two) || l.y < r.end).residual.nonEmpty)
  }

  test("a default that is the other side's own value opens the end that is NULL, and no other") {
    val next = plus(l.y, Literal(1))
    val above = Seq[Expression](
      Coalesce(Seq(r.end, next)),
      Coalesce(Seq(r.end, plus(next, Literal(1)))),
      If(IsNull(r.end), next, r.end),
      If(IsNotNull(r.end), r.end, next),
      CaseWhen(Seq(IsNull(r.end) -> next), Some(r.end))
    )
    for (end <- above) {
      val form = formOf(l.y < end)
      assert(Set(form.lower, form.upper) == Set("", "l.y < r.end"), end.sql)
      assertSameMeaning(l.y < end, ints)
      assertSameMeaning(l.y <= end && r.start <= l.y, Seq(null, 1, 2, Int.MaxValue))
      assertSameMeaning(end > l.y && l.y >= r.start, Seq(null, 1, 2, Int.MaxValue))
    }
    val below = Coalesce(Seq(r.start, minus(l.y, Literal(1))))
    assert(Set("r.start < l.y", "") == Set(formOf(below < l.y)).flatMap(f => Set(f.lower, f.upper)))
    assertSameMeaning(below < l.y, ints)
    // An addition that wraps around is not above its operand, a step down never is.
    for (other <- Seq(Add(l.y, Literal(1), EvalMode.LEGACY), minus(l.y, Literal(1)), l.y, l.z)) {
      assertSameMeaning(l.y < Coalesce(Seq(r.end, other)), ints)
      assertSameMeaning(l.y <= Coalesce(Seq(r.end, other)), ints)
    }
  }

  test("a default beside several ends, and one that a flag chooses") {
    val next = plus(l.y, Literal(1))
    val ends = Seq[Expression](
      Coalesce(Seq(r.end, r.high, next)),
      Coalesce(Seq(r.end, next, r.high)),
      If(r.low > two, next, r.end))
    for ((end, value) <- ends.zip(Seq(
        "coalesce(r.end, r.high)",
        "r.end",
        "(IF((r.low > 2), CAST(NULL AS INT), r.end))"))) {
      val form = formOf(l.y < end)
      assert(Set(form.lower, form.upper) == Set("", s"l.y < $value"), end.sql)
      assertSameMeaning(l.y < end, Seq(null, 1, 2, 3, Int.MaxValue))
    }
  }

  test("a default that is no NULL leaves nothing to ask where it is the point itself") {
    val point = l.y.withNullability(false)
    assert(range(point <= Coalesce(Seq(r.end, point))).residual.isEmpty)
    assert(range(l.y <= Coalesce(Seq(r.end, l.y))).residual.nonEmpty)
  }

  test("the ways in which intervals overlap, joined by OR, are the overlap of all their ends") {
    val startsWithin = between(l.start, r.start, r.end)
    val endsWithin = between(l.end, r.start, r.end)
    val spans = l.start < r.start && l.end > r.end
    val few: Seq[Any] = Seq(null, 0, 1, 2, 3)
    for (ways <- Seq(startsWithin, endsWithin, spans).permutations) {
      val overlap = ways.reduceLeft(Or(_, _))
      val form = formOf(overlap)
      assert(Seq(form.lower, form.upper).forall(t =>
        t.contains("least(") && t.contains("greatest(")))
      assert(
        Set("l.start", "l.end", "r.start", "r.end")
          .forall(c => form.lower.contains(c) && form.upper.contains(c)),
        form)
      assert(form.residual.contains(overlap.sql))
      // Inverted intervals, too.
      assertSameMeaning(overlap, few)
    }
    assertSameMeaning(startsWithin || spans, few)
    assertSameMeaning(startsWithin || between(r.start, l.start, l.end), few)
    assertSameMeaning((l.start < r.end && l.end >= r.end) || endsWithin, few)
  }

  test("a part by other columns, for rows without a value of the first, opens their side") {
    val near = l.y > r.start && l.y <= plus(r.start, two)
    val other = between(l.z, r.low, plus(r.low, two))
    val (isThere, isNot) = (IsNotNull(r.start), IsNull(r.start))
    val few: Seq[Any] = Seq(null, 0, 1, 3)
    for (either <- Seq[Expression](
        (isThere && near) || (isNot && other),
        (isNot && other) || near,
        CaseWhen(Seq(isThere -> near), Some(other)),
        If(isNot, other, near))) {
      val form = formOf(either)
      assert(
        Set(form.lower, form.upper) == Set("r.start < l.y", "l.y <= (r.start + 2)"),
        either.sql)
      assert(form.residual.nonEmpty)
      assertSameMeaning(either, few)
    }
    val threeWays =
      near || (isNot && r.high > two && other) || (isNot && IsNull(r.low) && l.z === r.high)
    assert(Set(formOf(threeWays).lower, formOf(threeWays).upper).exists(_.contains("l.y")))
    assertSameMeaning(threeWays, Seq(null, 1, 3))
    // A NULL of something else says nothing of the first.
    assert(extract(near || (IsNull(r.z) && other)).isLeft)
  }

  test("parts that leave both ends open, or have nothing in common, are refused") {
    val refused = Seq[(Expression, Expression => Reason)](
      Not(between(l.y, r.start, r.end)) -> Reason.NoConjunct,
      (l.y < r.start || l.y > r.end) -> Reason.OutsideOfRange,
      (l.y < r.y || l.z < r.z) -> Reason.DifferentColumns,
      (between(l.y, r.start, r.end) || l.y <=> r.y) -> Reason.NoConjunct,
      (l.y < r.y || Cast(l.y, DoubleType) < Cast(r.z, DoubleType)) -> Reason.NoConjunct,
      (l.y < r.y && l.z < r.z || l.start < r.start) -> Reason.DifferentColumns,
      (l.y < r.y && l.z < r.z || l.start < r.start && l.end < r.end) -> Reason.DifferentColumns
    )
    for ((condition, reason) <- refused)
      assert(extract(condition).left.toOption.contains(reason(condition)), condition.sql)
  }
}
