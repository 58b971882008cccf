// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.util.{Left, Right}

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.types._

import org.scalatest.funsuite.AnyFunSuite

/** Conditions that are no range, and the reason given. */
class ReasonSuite extends AnyFunSuite with TwoSides {
  private val ten = Literal(10)
  private val band = between(r.y, minus(l.y, ten), plus(l.y, ten))

  /** One condition for each reason; what is sealed is matched below, so that none is forgotten. */
  private val examples: Seq[(Either[Reason, RangeCondition], Reason)] = {
    val rand = r.y <= plus(l.y, Cast(Rand(Literal(1L)), IntegerType))
    Seq(
      RangeExtractor.extract(JoinCondition(Inner, None, AttributeSet.empty, AttributeSet.empty)) ->
        Reason.NoCondition,
      extract(l.y =!= r.y) -> Reason.NoRangePredicate,
      extract(l.y < r.y || l.z =!= r.z) -> Reason.NoConjunct(l.y < r.y || l.z =!= r.z),
      extract(l.y < r.y || l.z > r.z) -> Reason.DifferentColumns(l.y < r.y || l.z > r.z),
      extract(l.y < r.y || l.y > r.z) -> Reason.OutsideOfRange(l.y < r.y || l.y > r.z),
      extract(Multiply(l.y, r.y) < ten) -> Reason.MixedSides(Multiply(l.y, r.y) < ten),
      extract(wrappedMinus(l.y, r.y) <= ten) ->
        Reason.InexactDifference(wrappedMinus(l.y, r.y) <= ten),
      extract(r.y >= l.y && rand) -> Reason.Nondeterministic(rand),
      extract(band, OtherJoinType.it) -> Reason.UnsupportedJoinType(OtherJoinType.it)
    )
  }

  test("every reason has a condition that is refused for it") {
    for ((result, reason) <- examples) assert(result == Left(reason))
  }

  test("every reason is named here") {
    // A new reason is a warning here, and so an error, until it has an example.
    def name(reason: Reason): String = reason match {
      case Reason.NoCondition            => "no condition"
      case Reason.NoRangePredicate       => "no range predicate"
      case _: Reason.NoConjunct          => "no conjunct"
      case _: Reason.DifferentColumns    => "different columns"
      case _: Reason.OutsideOfRange      => "outside of a range"
      case _: Reason.MixedSides          => "mixed sides"
      case _: Reason.InexactDifference   => "inexact difference"
      case _: Reason.Nondeterministic    => "nondeterministic"
      case _: Reason.UnsupportedJoinType => "unsupported join type"
      // Of plans, not of conditions: the suites in broadcast/ have examples.
      case _: Reason.SubqueryInBuildBound => "subquery"
      case Reason.UnregisteredIndex       => "unregistered index"
      // Of plans, too: JoinReportsSuite has examples.
      case Reason.NoKey                  => "no key"
      case Reason.RankedSideBuilt        => "ranked side built"
      case Reason.NullAware              => "null-aware"
      case _: Reason.OrderedStreamedSide => "ordered streamed side"
      case Reason.Streaming              => "streaming"
      case _: Reason.SwitchedOff         => "switched off"
      case Reason.PlannedOtherwise       => "planned otherwise"
      // GuardSuite has examples.
      case Reason.RangeJoinOfSpark  => "range join of Spark"
      case _: Reason.NotOfThisSpark => "not of this Spark"
    }
    assert(examples.map { case (_, reason) => name(reason) }.distinct.size == 9)
  }

  test("every message names what is at fault") {
    for ((_, reason) <- examples) reason match {
      case Reason.InexactDifference(predicate)  => assert(reason.message.contains(predicate.sql))
      case Reason.Nondeterministic(predicate)   => assert(reason.message.contains(predicate.sql))
      case Reason.UnsupportedJoinType(joinType) => assert(reason.message.contains(joinType.sql))
      case Reason.SubqueryInBuildBound(bound)   => assert(reason.message.contains(bound.toString))
      case Reason.UnregisteredIndex             =>
        assert(reason.message.contains("spark.kryo.registrationRequired"))
      case Reason.NoConjunct(predicate)       => assert(reason.message.contains(predicate.sql))
      case Reason.DifferentColumns(predicate) => assert(reason.message.contains(predicate.sql))
      case Reason.OutsideOfRange(predicate)   => assert(reason.message.contains(predicate.sql))
      case Reason.MixedSides(predicate)       => assert(reason.message.contains(predicate.sql))
      case Reason.OrderedStreamedSide(order)  =>
        assert(reason.message.contains(order.head.child.sql))
      case Reason.SwitchedOff(key)       => assert(reason.message.contains(key))
      case Reason.NotOfThisSpark(why, _) => assert(reason.message.contains(why))
      case Reason.NoCondition | Reason.NoRangePredicate | Reason.NoKey | Reason.NullAware |
          Reason.RankedSideBuilt | Reason.Streaming | Reason.RangeJoinOfSpark |
          Reason.PlannedOtherwise =>
        assert(reason.message.nonEmpty)
    }
  }

  test("the join type is looked at first, then the condition, then whether it is deterministic") {
    val noise = Rand(Literal(1L)) > 0.5
    assert(extract(noise, OtherJoinType.it) == Left(Reason.UnsupportedJoinType(OtherJoinType.it)))
    assert(extract(noise) == Left(Reason.Nondeterministic(noise)))
    assert(extract(band && noise) == Left(Reason.Nondeterministic(noise)))
  }

  test("a join without a range has a normal form with neither test") {
    val types = Seq(Inner -> LeftSide, FullOuter -> LeftSide, RightOuter -> RightSide)
    val conditions = Seq(None, Some(l.y =!= r.y), Some(wrappedMinus(l.y, r.y) <= ten))
    for ((joinType, streamed) <- types; condition <- conditions) {
      val form = RangeCondition(streamed, None, None, Nil, condition)
      assert(normalForm(joinType, condition) == Right(form))
      assert(form.orderOf(LeftSide).isEmpty && form.orderOf(RightSide).isEmpty)
    }
  }

  test("a join that cannot run at all has no normal form, and a range has its own") {
    val noise = Rand(Literal(1L)) > 0.5
    assert(normalForm(Inner, Some(noise)) == Left(Reason.Nondeterministic(noise)))
    assert(normalForm(OtherJoinType.it, None) == Left(Reason.UnsupportedJoinType(OtherJoinType.it)))
    assert(normalForm(Inner, Some(band)) == extract(band))
  }

  private def normalForm(joinType: JoinType, condition: Option[Expression]) =
    RangeExtractor.normalForm(
      JoinCondition(joinType, condition, AttributeSet(l.y), AttributeSet(r.y)))

  test("either side may be streamed, whichever the join type preserves") {
    for {
      joinType <- Seq(Inner, LeftOuter, RightOuter, FullOuter, LeftSemi, LeftAnti)
      streamed <- Seq(LeftSide, RightSide)
    } {
      assert(extract(band, joinType, Some(streamed)).map(_.streamed) == Right(streamed))
      assert(JoinTypeBehavior.of(joinType, streamed).exists(_.streamed.forall(_ == streamed)))
    }
  }

  test("comparisons that do not cross the sides are no range") {
    assert(extract(l.start <= l.end && r.start <= r.end) == Left(Reason.NoRangePredicate))
    assert(extract(l.y >= ten && r.y <= ten) == Left(Reason.NoRangePredicate))
  }

  test("comparisons of expressions that mix the sides are no range") {
    val mixed = Multiply(l.y, r.y)
    for (first <- Seq[Expression](
        mixed <= ten,
        ten < mixed,
        minus(l.y, r.y) <= minus(l.z, r.z),
        r.y <= Multiply(l.y, r.z),
        AddMonths(Cast(l.y, DateType), r.y) >= Cast(l.z, DateType))) {
      assert(extract(first) == Left(Reason.MixedSides(first)))
      assert(extract(l.y > ten && first && mixed >= 0) == Left(Reason.MixedSides(first)))
    }
  }

  test("what holds outside of a range is said to do so") {
    for (outside <- Seq[Expression](
        l.y < r.start || l.y > r.end,
        r.y < minus(l.y, ten) || r.y > plus(l.y, ten),
        l.y < r.start || IsNull(r.end) || l.y > r.end || l.z > ten,
        Abs(minus(l.y, r.y), failOnError = true) >= ten,
        ten < Abs(minus(l.y, r.y), failOnError = true)
      )) {
      assert(extract(outside) == Left(Reason.OutsideOfRange(outside)))
    }
  }

  test("ranges of different columns joined by OR are said to be so") {
    for (either <- Seq[Expression](
        between(l.y, r.start, r.end) || between(l.z, r.low, r.high),
        between(r.y, minus(l.y, ten), plus(l.y, ten)) || between(
          r.z,
          minus(l.z, ten),
          plus(l.z, ten)),
        l.end < r.start || r.end < l.start
      )) {
      assert(extract(either) == Left(Reason.DifferentColumns(either)))
    }
  }

  test("a comparison of the sides that is no conjunct is no range, and is named") {
    val either = l.y < r.y || l.z =!= r.z
    val branch = If(Not(l.y === r.z), l.y < r.y, l.z > r.z)
    for (nested <- Seq(either, Not(band), branch, IsNull(l.y < r.y))) {
      assert(extract(nested) == Left(Reason.NoConjunct(nested)))
      assert(extract(l.start < l.end && nested) == Left(Reason.NoConjunct(nested)))
    }
    assert(extract(l.y < ten || l.z > ten) == Left(Reason.NoRangePredicate))
  }

  test("what a comparison of the sides is inside of is said in words") {
    val compared = l.y < r.y
    val words = Seq(
      (compared || l.z =!= r.z) -> "joined by OR",
      If(Not(l.y === r.z), compared, l.z > r.z) -> "inside IF",
      CaseWhen(Seq(Not(l.y === r.z) -> compared), Some(l.z > r.z)) -> "inside CASE",
      IsNull(compared) -> "inside IS NULL",
      IsNotNull(compared) -> "inside IS NOT NULL",
      EqualNullSafe(compared, l.y > ten) -> "does not bound one side by the other"
    )
    for ((predicate, word) <- words) {
      val reason = extract(predicate).left.toOption.get
      assert(reason == Reason.NoConjunct(predicate))
      assert(reason.message.contains(word) && reason.message.contains(predicate.sql))
    }
  }

  test("one limit alone of a difference that wraps around is refused") {
    for (alone <- Seq(wrappedMinus(l.y, r.y) <= ten, ten <= wrappedMinus(l.y, r.y))) {
      assert(extract(alone) == Left(Reason.InexactDifference(alone)))
    }
  }

  test("limits of two differences that wrap around do not make up one") {
    val first = wrappedMinus(l.y, r.y) <= ten
    assert(extract(first && wrappedMinus(l.z, r.z) >= -ten) ==
      Left(Reason.InexactDifference(first)))
    // l - r >= -10 is another difference than r - l, and not its upper limit.
    assert(extract(first && wrappedMinus(r.y, l.y) <= ten) == Left(Reason.InexactDifference(first)))
  }

  test("limits of one difference from both sides do not make up one") {
    val first = wrappedMinus(l.y, r.y) <= l.high
    assert(extract(first && wrappedMinus(l.y, r.y) >= r.low) ==
      Left(Reason.InexactDifference(first)))
  }

  test("a difference of a type without exact arithmetic for it is refused") {
    val (l, r) = (new Columns("l", DecimalType(38, 2)), new Columns("r", DecimalType(38, 2)))
    val band = minus(l.y, r.y) <= l.high
    assert(extract(band && minus(l.y, r.y) >= l.low) == Left(Reason.InexactDifference(band)))
  }

  test("a condition with any comparison is worth a reason") {
    assert(RangeExtractor.hasComparison(l.y =!= r.y || l.y === r.y) === false)
    assert(RangeExtractor.hasComparison(l.y === r.y || l.y < r.y))
    assert(RangeExtractor.hasComparison(IsNotNull(l.y) && l.y < r.y))
    assert(RangeExtractor.hasComparison(FromUTCTimestamp(l.y, r.z) === r.y))
  }
}
