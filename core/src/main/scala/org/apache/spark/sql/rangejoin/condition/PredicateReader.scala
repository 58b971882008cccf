// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.rangejoin.shims.EvaluatedInPlace
import org.apache.spark.sql.types._

/**
 * Reads conjuncts of a join condition as range tests.
 *
 *   - A comparison of an expression of one side with an expression of the other is one test.
 *   - A comparison of a difference `x - y` or a sum `x + y` of the two sides with an expression of one side is one
 *     test, of `abs(x - y) <= d` two (see [[Difference]]). A difference that is divided or rounded makes a test with a
 *     literal (see [[RoundedDifference]]); an equality makes two.
 *   - A comparison of a time in the time zone of the other side is one wider test (see [[ShiftedTime]]).
 *   - Ranges joined by OR are the range that covers them all; a part that reads one side alone opens that
 *     side (see [[EnclosingRange]], [[OpenEnds]]). CASE, IF, `coalesce` and other functions that choose among
 *     values are read as what they stand for, in AND and OR (see [[Alternatives]]).
 *   - A range without an end ([[OpenRange]]) is one.
 *   - `array_contains(sequence(start, stop), value)` is a value between the two (see [[SequenceMember]]).
 *
 * Anything else is no test. `read` says why a predicate that looks like a range is none.
 */
private[condition] class PredicateReader(left: AttributeSet, right: AttributeSet) {
  private val rounded = new RoundedDifference(sideOf)

  def read(predicates: Seq[Expression]): (Seq[Reason], Seq[RangeTest]) = {
    val compared = predicates.map(p => Comparison.of(p).fold(readOther(p))(readComparison))
    val (refused, ofDifferences) = Difference.tests(compared.flatMap(_.limits))
    // In the order they were written, which breaks ties in the choice of the range.
    val tests = compared.flatMap(_.tests) ++ ofDifferences
    val ordered = predicates.flatMap(p => tests.filter(_.predicate.eq(p)))
    // Last, since they say less than the predicates that they come from.
    val enclosing =
      predicates.filterNot(p => tests.exists(_.predicate.eq(p))).flatMap(readAlternatives)
    (compared.flatMap(_.refused) ++ refused, ordered ++ enclosing)
  }

  /** The tests of a predicate that is made of comparisons of the sides. */
  private def readAlternatives(predicate: Expression): Seq[RangeTest] = {
    val found = Alternatives.of(predicate, sideOf)
    val isWhole = found.conjuncts.size == 1 && found.isEquivalent
    found.conjuncts.flatMap {
      case or: Or => EnclosingRange.tests(or, predicate, isWhole)(readPart, sideOf)
      case other if other.ne(predicate) =>
        read(Seq(other))._2.map(_.copy(predicate = predicate, exact = Inexact))
      case _ => Nil
    }
  }

  /** The tests that a part of a disjunction implies. An equality of the sides is one in each direction. */
  private def readPart(conjuncts: Seq[Expression]): Seq[RangeTest] = {
    val equalities = conjuncts.collect {
      case e @ EqualTo(a, b) if isOrdered(a) =>
        (sideOf(a), sideOf(b)) match {
          case (Some(from), Some(to)) if from != to =>
            Seq(RangeTest(a, b, from, strict = false, e), RangeTest(b, a, to, strict = false, e))
          case _ => Nil
        }
    }
    read(conjuncts)._2 ++ equalities.flatten
  }

  /** Why none of these predicates is a range; None if none compares the sides. */
  def refusal(predicates: Seq[Expression]): Option[Reason] = {
    val refusal = new Refusal(sideOf, readPart)
    predicates.flatMap(refusal.of(_)).headOption
  }

  private def isOrdered(e: Expression): Boolean = RowOrdering.isOrderable(e.dataType)

  /** What a predicate is read as: tests, limits of differences, or neither, perhaps for a reason. */
  private case class Outcome(
      tests: Seq[RangeTest] = Nil,
      limits: Seq[Limit] = Nil,
      refused: Option[Reason] = None)

  private def readComparison(c: Comparison): Outcome =
    (sideOf(c.lesser), sideOf(c.greater)) match {
      case (Some(a), Some(b)) if a != b =>
        Outcome(Seq(RangeTest(c.lesser, c.greater, a, c.strict, c.predicate)))
      case _ => readDifference(c)
    }

  /** `difference <= limit`, or `limit <= difference`. */
  private def readDifference(c: Comparison): Outcome = {
    val limits = limitOf(c.lesser, c.greater, upper = true, c)
      .orElse(limitOf(c.greater, c.lesser, upper = false, c))
      .getOrElse(wideLimits(c))
    if (limits.nonEmpty) Outcome(limits = limits)
    else if (Seq(c.lesser, c.greater).exists(Difference.isUnread(_, sideOf))) {
      Outcome(refused = Some(Reason.InexactDifference(c.predicate)))
    } else Outcome(ShiftedTime.test(c, sideOf).toSeq)
  }

  private def limitOf(
      difference: Expression,
      value: Expression,
      upper: Boolean,
      c: Comparison
  ): Option[Seq[Limit]] = {
    val valueSide = sideOf(value)
    if (valueSide.isEmpty && value.references.nonEmpty) None
    else {
      Difference.of(difference, sideOf).flatMap { d =>
        Some(limitsOf(d, value, valueSide.getOrElse(d.xSide), upper, c)).filter(_.nonEmpty)
      }
    }
  }

  private def limitsOf(
      d: Difference,
      value: Expression,
      side: Side,
      upper: Boolean,
      c: Comparison
  ): Seq[Limit] =
    if (!d.absolute) Seq(Limit(d, value, side, upper, negated = false, c))
    else if (!upper) Nil
    else Seq(true, false).map(up => Limit(d, value, side, upper = up, negated = !up, c))

  /** The limits of a difference that is divided or rounded before it is compared. */
  private def wideLimits(c: Comparison): Seq[Limit] = {
    val found =
      rounded.limits(c.lesser, c.greater, upper = true) ++
        rounded.limits(c.greater, c.lesser, upper = false)
    found.flatMap { wide =>
      val d = wide.difference
      limitsOf(d, Literal(wide.amount), d.xSide, wide.upper, c.copy(strict = false))
        .map(_.copy(isWide = true))
    }
  }

  /** Reads what is no inequality: an equality, in both directions, a value in a sequence, an open range. */
  private def readOther(predicate: Expression): Outcome = predicate match {
    case SequenceMember(member) => Outcome(member.tests(predicate, sideOf))
    case open: OpenRange        => Outcome(sideOf(open.value).map(open.test).toSeq)
    case EqualTo(a, b)          =>
      val both = Seq(
        Comparison(a, b, strict = false, predicate),
        Comparison(b, a, strict = false, predicate))
      val limits = both.flatMap(wideLimits)
      if (limits.nonEmpty) Outcome(limits = limits)
      else Outcome(both.flatMap(ShiftedTime.test(_, sideOf)))
    case _ => Outcome()
  }

  private def sideOf(e: Expression): Option[Side] =
    if (e.references.isEmpty) None
    else if (e.references.subsetOf(left)) Some(LeftSide)
    else if (e.references.subsetOf(right)) Some(RightSide)
    else None
}

/** A predicate in the form `lesser <= greater`, or `<`. */
private[rangejoin] case class Comparison(
    lesser: Expression,
    greater: Expression,
    strict: Boolean,
    predicate: Expression
)

private[rangejoin] object Comparison {

  /** A predicate that is an inequality. */
  def of(predicate: Expression): Option[Comparison] = condOpt(predicate) {
    case LessThanOrEqual(a, b)    => Comparison(a, b, strict = false, predicate)
    case LessThan(a, b)           => Comparison(a, b, strict = true, predicate)
    case GreaterThanOrEqual(a, b) => Comparison(b, a, strict = false, predicate)
    case GreaterThan(a, b)        => Comparison(b, a, strict = true, predicate)
  }
}

/** A conjunct that tells the planner something: true of every pair, and its operands are never evaluated. */
trait PlanningConjunct extends Predicate with EvaluatedInPlace {

  override def nullable: Boolean = false

  override def eval(input: InternalRow): Any = true

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    ExprCode(FalseLiteral, TrueLiteral)
}

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

  def unapply(predicate: Expression): Option[SequenceMember] = condOpt(predicate) {
    case ArrayContains(Cast(s: Sequence, ArrayType(to, _), _, _), value)
        if Arithmetic.widens(s.dataType.elementType, to) && staysWithin(s) =>
      SequenceMember(Cast(s.start, to), Cast(s.stop, to), value)
    case ArrayContains(s: Sequence, value) if staysWithin(s) =>
      SequenceMember(s.start, s.stop, value)
  }

  private def staysWithin(s: Sequence): Boolean = cond((s.dataType.elementType, s.stepOpt)) {
    case (_, None) | (_: IntegralType, _) => true
    case (DateType, Some(step))           => step.dataType.isInstanceOf[DayTimeIntervalType]
    case (TimestampType | TimestampNTZType, Some(step)) =>
      step.dataType.isInstanceOf[AnsiIntervalType]
  }
}
