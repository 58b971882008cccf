// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.types._

import org.scalatest.funsuite.AnyFunSuite

/**
 * Conditions that are a range, and the form they are brought to. Whatever the form, it means what
 * the condition means: every check asks that of values in the middle and at the ends of the type.
 */
class RangeExtractorSuite extends AnyFunSuite with TwoSides {
  private val ten = Literal(10)
  private val Values = Seq[Any](null, Int.MinValue, -10, 0, 1, 10, 11, Int.MaxValue)

  private def check(condition: Expression, values: Seq[Any] = Values)(form: Form): Unit = {
    assert(Form.of(range(condition)) == form, condition.sql)
    assertSameMeaning(condition, values)
  }

  // ---------------------------------------------------------------- comparisons

  test("a band around the left side streams the left side") {
    check(between(r.y, minus(l.y, ten), plus(l.y, ten)))(
      Form(LeftSide, lower = "(l.y - 10) <= r.y", upper = "r.y <= (l.y + 10)")
    )
  }

  test("a band around the right side streams the right side") {
    check(between(l.y, minus(r.y, ten), plus(r.y, ten)))(
      Form(RightSide, lower = "(r.y - 10) <= l.y", upper = "l.y <= (r.y + 10)")
    )
  }

  test("columns bound a band as constants do") {
    check(between(r.y, minus(l.y, l.low), plus(l.y, l.high)), Seq(null, 0, 3, Int.MaxValue))(
      Form(LeftSide, lower = "(l.y - l.low) <= r.y", upper = "r.y <= (l.y + l.high)")
    )
  }

  test("points are buffered, and the intervals around them streamed") {
    check(between(r.y, l.start, l.end))(
      Form(LeftSide, lower = "l.start <= r.y", upper = "r.y <= l.end")
    )
    check(between(l.y, r.start, r.end))(
      Form(RightSide, lower = "r.start <= l.y", upper = "l.y <= r.end")
    )
  }

  test("two bands of shifted points buffer the side whose bounds share their columns") {
    check(minus(l.y, ten) <= minus(r.y, 1) && plus(r.y, 1) <= plus(l.low, ten))(
      Form(LeftSide, lower = "(l.y - 10) <= (r.y - 1)", upper = "(r.y + 1) <= (l.low + 10)")
    )
    check(minus(r.y, ten) <= minus(l.y, 1) && plus(l.y, 1) <= plus(r.low, ten))(
      Form(RightSide, lower = "(r.y - 10) <= (l.y - 1)", upper = "(l.y + 1) <= (r.low + 10)")
    )
  }

  test("intervals that overlap stream the left side") {
    check(l.start <= r.end && r.start <= l.end)(
      Form(LeftSide, lower = "l.start <= r.end", upper = "r.start <= l.end")
    )
  }

  test("intervals that overlap are the range, whatever else is compared and in whichever order") {
    val overlap = Seq(l.start <= r.end, r.start <= l.end)
    // The pairs of a self join once each, and rectangles.
    val others = Seq(Seq(l.y < r.y), Seq(r.y < l.y), Seq(l.low <= r.high, r.low <= l.high))
    for (other <- others; conjuncts <- (overlap ++ other).permutations) {
      val condition = conjuncts.reduceLeft(And)
      val found = range(condition)
      val ranges = (overlap +: Seq(other).filter(_.size == 2)).map(_.toSet[Expression])
      assert(ranges.contains(found.predicates.toSet), condition.sql)
    }
    assertSameMeaning(l.y < r.y && overlap.reduce(And), Seq(null, -1, 0, 1))
  }

  test("an overlap that is said twice, and one beside a point in an interval") {
    val twice = Seq(l.start <= r.end, l.start < r.end, r.start <= l.end)
    assert(range(twice.reduceLeft(And)).predicates == Seq(l.start <= r.end, r.start <= l.end))
    val point = Seq(r.y <= l.start, l.start <= r.end)
    assert(range((point :+ (r.start <= l.end)).reduceLeft(And)).predicates == point)
  }

  test("of two overlaps the one that is written first is the range, whatever the names") {
    // The columns of one have other names on either side.
    val times = Seq(l.y < r.z, r.y < l.low)
    val prices = Seq(l.start <= r.end, r.start <= l.end)
    for ((first, second) <- Seq(times -> prices, prices -> times)) {
      val condition = (first ++ second).reduceLeft(And)
      assert(range(condition).predicates.toSet == first.toSet[Expression], condition.sql)
      val others = RangeExtractor.ranges(JoinCondition(
        Inner,
        Some(condition),
        AttributeSet(Seq(l.y, l.low, l.start, l.end)),
        AttributeSet(Seq(r.y, r.z, r.start, r.end))))
      assert(others.map(_.map(_.predicates.toSet)) ==
        scala.util.Right(Seq(first.toSet[Expression], second.toSet[Expression])))
    }
  }

  test("of two bands the one that is written first is the range, whatever the names") {
    val bands =
      Seq(between(r.z, minus(l.y, ten), plus(l.y, ten)), between(r.low, l.low, plus(l.low, ten)))
    for (order <- bands.permutations) {
      val condition = order.reduceLeft(And)
      assert(
        range(condition).predicates.forall(p => order.head.exists(_.semanticEquals(p))),
        condition.sql)
    }
  }

  test("two tests of one type come before those of two types") {
    val t = AttributeReference("t", DateType)()
    val (from, to) = (AttributeReference("from", DateType)(), AttributeReference("to", DateType)())
    val until = AttributeReference("until", DateType)()
    for (conjuncts <- Seq(l.y < r.y, t <= to, from <= until).permutations) {
      val found = RangeExtractor.extract(JoinCondition(
        Inner,
        Some(conjuncts.reduceLeft(And)),
        AttributeSet(Seq(l.y, t, until)),
        AttributeSet(Seq(r.y, to, from))))
      assert(found.map(_.predicates.toSet) ==
        scala.util.Right(Set[Expression](t <= to, from <= until)))
    }
  }

  test("each end is strict for itself") {
    val (low, high) = (minus(l.y, ten), plus(l.y, ten))
    check(low < r.y && r.y <= high)(
      Form(LeftSide, lower = "(l.y - 10) < r.y", upper = "r.y <= (l.y + 10)")
    )
    check(low <= r.y && r.y < high)(
      Form(LeftSide, lower = "(l.y - 10) <= r.y", upper = "r.y < (l.y + 10)")
    )
    check(low < r.y && r.y < high)(
      Form(LeftSide, lower = "(l.y - 10) < r.y", upper = "r.y < (l.y + 10)")
    )
  }

  test("neither the order of conjuncts nor their nesting nor their orientation matters") {
    val (low, high) = (minus(l.y, ten), plus(l.y, ten))
    val other = l.z === r.z
    val form = Form(
      LeftSide,
      lower = "(l.y - 10) < r.y",
      upper = "r.y <= (l.y + 10)",
      residual = Some("(l.z = r.z)")
    )
    for {
      lower <- Seq(low < r.y, r.y > low)
      upper <- Seq(r.y <= high, high >= r.y)
      conjuncts <- Seq(lower, upper, other).permutations
      nested <- Seq(conjuncts.reduceLeft(And), conjuncts.reduceRight(And))
    } assert(Form.of(range(nested)) == form, nested.sql)
    assertSameMeaning(low < r.y && r.y <= high && other, Seq(null, 0, 10, Int.MaxValue))
  }

  test("what is no range test is the residual, in the order it was written") {
    val condition =
      (l.z =!= r.z) && (r.y >= l.start) && (plus(l.z, r.z) > ten) && (r.y <= l.end) && (l.z < 5)
    val found = range(condition)
    assert(found.predicates == Seq(r.y >= l.start, r.y <= l.end))
    assert(found.residual.contains((l.z =!= r.z) && (plus(l.z, r.z) > ten) && (l.z < 5)))
    assert(found.predicates.map(_.sql).mkString(" AND ") == "(r.y >= l.start) AND (r.y <= l.end)")
    assertSameMeaning(condition, Seq(0, 4, 11))
  }

  test("of several ranges the two tests that share their columns are taken") {
    val condition = l.low <= r.z && between(r.y, minus(l.y, ten), plus(l.y, ten)) && r.low <= l.z
    check(condition, Seq(0, 11))(Form(
      LeftSide,
      lower = "(l.y - 10) <= r.y",
      upper = "r.y <= (l.y + 10)",
      residual = Some("((l.low <= r.z) AND (r.low <= l.z))")
    ))
  }

  test("of tests that serve equally the first is taken") {
    val condition = r.y >= minus(l.y, 5) && r.y >= minus(l.y, ten) && r.y <= plus(l.y, ten)
    check(condition)(Form(
      LeftSide,
      lower = "(l.y - 5) <= r.y",
      upper = "r.y <= (l.y + 10)",
      residual = Some("(r.y >= (l.y - 10))")
    ))
  }

  test("an addition that wraps around bounds a band as it is") {
    check(between(r.y, wrappedMinus(l.y, ten), Add(l.y, ten, EvalMode.LEGACY)))(
      Form(LeftSide, lower = "(l.y - 10) <= r.y", upper = "r.y <= (l.y + 10)")
    )
  }

  // ---------------------------------------------------------------- one direction

  test("a range of one direction streams the greater side, unless the join type says otherwise") {
    check(l.y < r.y)(Form(RightSide, lower = "", upper = "l.y < r.y"))
    check(l.y >= r.y)(Form(LeftSide, lower = "", upper = "r.y <= l.y"))
    def of(condition: Expression, joinType: JoinType) =
      Form.of(extract(condition, joinType).fold(r => fail(r.message), identity))
    assert(of(l.y < r.y, LeftOuter) == Form(LeftSide, lower = "l.y < r.y", upper = ""))
    assert(of(l.y < r.y, RightOuter) == Form(RightSide, lower = "", upper = "l.y < r.y"))
    assert(of(l.y >= r.y, RightOuter) == Form(RightSide, lower = "r.y <= l.y", upper = ""))
  }

  test("of tests in one direction the first is the range, the others are residual") {
    check(l.y <= r.y && l.z < r.z)(
      Form(RightSide, lower = "", upper = "l.y <= r.y", residual = Some("(l.z < r.z)"))
    )
  }

  test("the other bound on one side only is residual") {
    check(l.y <= r.y && r.y <= ten)(
      Form(RightSide, lower = "", upper = "l.y <= r.y", residual = Some("(r.y <= 10)"))
    )
  }

  test("one limit alone of a difference that raises is a range of one direction, asked again") {
    check(minus(l.y, r.y) <= ten)(Form(
      RightSide,
      lower = "",
      upper = "(l.y - 10) <= r.y",
      residual = Some("((l.y - r.y) <= 10)")
    ))
  }

  test("a range of two directions is preferred to one of one") {
    val condition = l.low <= r.low && l.z <= r.z && between(r.y, l.start, l.end)
    check(condition, Seq(0, 11))(Form(
      LeftSide,
      lower = "l.start <= r.y",
      upper = "r.y <= l.end",
      residual = Some("((l.low <= r.low) AND (l.z <= r.z))")
    ))
  }

  test("the join type says which side is streamed, whatever the range") {
    val band = between(r.y, minus(l.y, ten), plus(l.y, ten))
    val sides = Seq(
      LeftOuter -> LeftSide,
      RightOuter -> RightSide,
      FullOuter -> LeftSide,
      LeftSemi -> LeftSide,
      LeftAnti -> LeftSide,
      ExistenceJoin(AttributeReference("e", BooleanType)()) -> LeftSide
    )
    for ((joinType, side) <- sides) {
      val found = extract(band, joinType).fold(reason => fail(reason.message), identity)
      assert(found.streamed == side)
      assert(found.upperTest.isDefined && found.lowerTest.isDefined)
    }
    val swapped = extract(band, RightOuter).fold(reason => fail(reason.message), identity)
    assert(Form.of(swapped) ==
      Form(RightSide, lower = "r.y <= (l.y + 10)", upper = "(l.y - 10) <= r.y"))
  }

  // ---------------------------------------------------------------- differences

  test("the limits of a difference are the ends of a band") {
    check(between(minus(l.y, r.y), -ten, ten))(
      Form(LeftSide, lower = "(l.y - 10) <= r.y", upper = "r.y <= (l.y - (- 10))")
    )
    check(between(minus(r.y, l.y), Literal(1), ten))(
      Form(RightSide, lower = "(r.y - 10) <= l.y", upper = "l.y <= (r.y - 1)")
    )
  }

  test("a strict limit of a difference is strict at the other end of the band") {
    check(Literal(1) < minus(l.y, r.y) && minus(l.y, r.y) <= ten)(
      Form(LeftSide, lower = "(l.y - 10) <= r.y", upper = "r.y < (l.y - 1)")
    )
    check(minus(l.y, r.y) >= 1 && ten > minus(l.y, r.y))(
      Form(LeftSide, lower = "(l.y - 10) < r.y", upper = "r.y <= (l.y - 1)")
    )
  }

  test("columns of either side limit a difference") {
    val values = Seq[Any](null, -3, 0, 3, Int.MaxValue)
    check(between(minus(l.y, r.y), l.low, l.high), values)(
      Form(LeftSide, lower = "(l.y - l.high) <= r.y", upper = "r.y <= (l.y - l.low)")
    )
    check(between(minus(l.y, r.y), r.low, r.high), values)(
      Form(RightSide, lower = "(r.y + r.low) <= l.y", upper = "l.y <= (r.y + r.high)")
    )
  }

  test("an absolute difference is a band, and strict at both ends where it is strict") {
    check(Abs(minus(l.y, r.y), failOnError = true) <= ten)(
      Form(LeftSide, lower = "(l.y - 10) <= r.y", upper = "r.y <= (l.y - (- 10))")
    )
    check(ten > Abs(minus(r.y, l.y), failOnError = true))(
      Form(RightSide, lower = "(r.y - 10) < l.y", upper = "l.y < (r.y - (- 10))")
    )
  }

  test("an absolute difference has its limit on either side") {
    check(Abs(minus(l.y, r.y), failOnError = true) <= r.high)(
      Form(RightSide, lower = "(r.y + (- r.high)) <= l.y", upper = "l.y <= (r.y + r.high)")
    )
  }

  test("the ends of a difference that wraps around are trusted conditionally") {
    check(between(wrappedMinus(l.y, r.y), -ten, ten))(Form(
      LeftSide,
      lower = "(l.y - 10) <= r.y",
      upper = "r.y <= (l.y - (- 10))",
      trusted = "lower upper"
    ))
  }

  test("an absolute difference that wraps around trusts neither side of itself") {
    val inner = Seq(minus(l.y, r.y) -> false, wrappedMinus(l.y, r.y) -> true)
    for ((difference, failOnError) <- inner :+ (wrappedMinus(l.y, r.y) -> false)) {
      check(Abs(difference, failOnError) <= ten)(Form(
        LeftSide,
        lower = "(l.y - 10) <= r.y",
        upper = "r.y <= (l.y - (- 10))",
        trusted = "lower upper sort evict"
      ))
    }
  }

  test("a difference compared in a wider type is a band that is asked again") {
    val wide = Cast(minus(l.y, r.y), LongType)
    check(between(wide, Literal(-10L), Literal(10L)))(Form(
      LeftSide,
      lower = "(l.y - 10L) <= r.y",
      upper = "r.y <= (l.y - -10L)",
      residual =
        Some("((-10L <= CAST((l.y - r.y) AS BIGINT)) AND (CAST((l.y - r.y) AS BIGINT) <= 10L))")
    ))
    check(Abs(wide, failOnError = true) <= 10L)(Form(
      LeftSide,
      lower = "(l.y - 10L) <= r.y",
      upper = "r.y <= (l.y - (- 10L))",
      residual = Some("(abs(CAST((l.y - r.y) AS BIGINT)) <= 10L)")
    ))
  }

  test("a lower limit of an absolute difference is residual") {
    val distance = Abs(minus(l.y, r.y), failOnError = true)
    check(distance <= ten && distance >= 2)(Form(
      LeftSide,
      lower = "(l.y - 10) <= r.y",
      upper = "r.y <= (l.y - (- 10))",
      residual = Some("(abs((l.y - r.y)) >= 2)")
    ))
  }
}
