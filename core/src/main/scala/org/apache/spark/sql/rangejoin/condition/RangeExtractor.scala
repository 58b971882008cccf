// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import java.util.Locale

import scala.util.{Left, Right}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.joins.BaseJoinExec

/**
 * Finds the range in the condition of a join: a pure function of the condition and of the columns
 * of the two sides.
 *
 * Every conjunct is read as range tests where it can be (see [[PredicateReader]]). Two tests, one
 * in each direction, become the range, or a single one where all tests have one direction; all
 * other conjuncts are the residual, evaluated for candidates only. Of several pairs of tests the
 * best is the one
 *
 *   1. whose tests share their columns, on both sides if possible: they bound a band or an interval,
 *      while two unrelated tests may bound nothing,
 *   1. that compares a point, the same expression in both tests,
 *   1. whose tests are of one type, if they share no columns,
 *   1. that was written first,
 *
 * unless the condition names the range that drives the join ([[DrivenBy]]): that choice was made from a sample, which says
 * more than the form. The halves of an overlap, `a.start < b.end` and `b.start < a.end`, compare columns of the same
 * names crosswise. Neither makes a range with an unrelated test, as `a.id < b.id`.
 *
 * Which side is streamed is up to the join type ([[JoinTypeBehavior]]). Where the join type leaves the choice, points
 * are buffered and intervals streamed: points leave the window in the order they came, so that it holds no more than
 * the range of one streamed row, while intervals would stay as long as the longest. A one-sided range streams the
 * greater side, which then need not be sorted by its bound, and whose scans visit nothing but matches.
 */
object RangeExtractor {

  /** The range of a join, or why there is none. */
  def extract(join: JoinCondition): Either[Reason, RangeCondition] = ranges(join).map(_.head)

  /** The range of a join of a logical plan. */
  def extract(join: Join, streamed: Option[Side]): Either[Reason, RangeCondition] =
    extract(JoinCondition.of(join, streamed))

  /** The range of a join that Spark has planned. */
  def extract(join: BaseJoinExec): Either[Reason, RangeCondition] =
    extract(JoinCondition.of(join, streamed = None))

  /**
   * The ranges that may drive a join, the driving one first. The others have two ends, and tests that are as much
   * related as in the first: each excludes distant pairs.
   */
  def ranges(join: JoinCondition): Either[Reason, Seq[RangeCondition]] =
    for {
      behavior <-
        JoinTypeBehavior.of(join.joinType).toRight(Reason.UnsupportedJoinType(join.joinType))
      split <- join.condition.map(DrivenBy.split).toRight(Reason.NoCondition)
      _ <- split.conjuncts.find(!_.deterministic).map(Reason.Nondeterministic).toLeft(())
      tests <- readTests(split.conjuncts, join)
    } yield choose(tests, split.driving).map { found =>
      val range = found.map(OpenEnds.withoutNulls(_, split.conjuncts))
      val side = join.streamed.orElse(behavior.streamed).getOrElse(range.streamed)
      withRange(range, side, split.conjuncts)
    }

  /**
   * A second range beside the driving one, by which an index can leave out rows. Both have two ends and come from
   * different conjuncts, and the bounds of the first are values, not prefixes. Leaving out a pair must not hide an
   * error: no conjunct before the second range may raise, and if the bounds of the second range do not decide its
   * conjuncts, no conjunct at all may raise. In that case the bounds do not tell FALSE from NULL, and after a NULL the
   * following conjuncts are evaluated, too.
   */
  def second(join: JoinCondition): Option[RangeCondition] =
    ranges(join).toOption.flatMap { found =>
      val first = found.head
      def isOfFirst(conjunct: Expression) = first.predicates.exists(_.eq(conjunct))
      def isApart(range: RangeCondition) = range.hasTwoEnds && !range.predicates.exists(isOfFirst)
      def raisesNothing(range: RangeCondition) = {
        val asked = first.residual.toSeq.flatMap(Predicates.split)
        val undecided = range.residual.toSeq.flatMap(Predicates.split)
        def isOf(conjunct: Expression) = range.predicates.exists(_.eq(conjunct))
        def isDecided(conjunct: Expression) = !undecided.exists(_.eq(conjunct))
        val before =
          if (asked.filter(isOf).forall(isDecided)) asked.take(asked.lastIndexWhere(isOf))
          else asked
        before.filterNot(isDecided).forall(Predicates.neverRaises)
      }
      if (first.hasTwoEnds && first.upperByValue.isEmpty && first.lowerByValue.isEmpty)
        found.tail.find(range => isApart(range) && raisesNothing(range))
      else None
    }

  /**
   * The normal form of a join with or without a range: without one it has no tests, and the whole condition as the
   * residual.
   */
  def normalForm(join: JoinCondition): Either[Reason, RangeCondition] = extract(join) match {
    case Left(_: Reason.NoRange) => Right(withoutRange(join))
    case other                   => other
  }

  private def withoutRange(join: JoinCondition): RangeCondition = {
    val streamed = join.streamed.orElse(JoinTypeBehavior.of(join.joinType).flatMap(_.streamed))
    RangeCondition(streamed.getOrElse(LeftSide), None, None, Nil, join.condition)
  }

  /**
   * Whether a condition compares anything at all, so that users want a reason if it is no range: by order; by equality
   * with a literal, as in `floor((l.t - r.t) / 60) = 0`; a time in some zone; values of a sequence; or for a ranking.
   */
  def hasComparison(condition: Expression): Boolean = condition.exists {
    case EqualTo(a, b)     => a.foldable != b.foldable || Seq(a, b).exists(ShiftedTime.hasZone)
    case SequenceMember(_) => true
    case _: OpenRange      => true
    case e                 => Comparison.of(e).isDefined
  }

  private def readTests(
      predicates: Seq[Expression],
      join: JoinCondition): Either[Reason, Seq[RangeTest]] = {
    val reader = new PredicateReader(join.left, join.right)
    val (refused, tests) = reader.read(predicates)
    if (tests.nonEmpty) Right(tests)
    else Left(refused.headOption.orElse(reader.refusal(predicates)).getOrElse(
      Reason.NoRangePredicate))
  }

  private def choose(tests: Seq[RangeTest], driving: Seq[Expression]): Seq[Range] = {
    val (leftBelowRight, rightBelowLeft) = tests.partition(_.lesserSide == LeftSide)
    val all = for (a <- leftBelowRight; b <- rightBelowLeft) yield Range(Some(a), Some(b))
    val overlaps = all.filter(_.isCrosswise)
    val pairs = all.filter(range =>
      range.isRelated || overlaps.contains(range) || !overlaps.exists(range.hasHalfOf))
    if (pairs.isEmpty) Seq(Range(leftBelowRight.headOption, rightBelowLeft.headOption))
    else {
      // maxBy keeps the first of equals.
      val best = pairs.map(_.preference).max
      val first =
        pairs.maxBy(range => (range.isOf(driving), range.preference, range.isOfOneType))
      first +: pairs.filter(range =>
        range.ne(first) && (range.preference._1 || range.preference == best))
    }
  }

  /** The tests of a range, at most one in each direction. */
  private case class Range(leftBelowRight: Option[RangeTest], rightBelowLeft: Option[RangeTest]) {
    def map(f: RangeTest => RangeTest): Range = Range(leftBelowRight.map(f), rightBelowLeft.map(f))

    private val sides = Seq[Side](RightSide, LeftSide)

    private def areBoth(hold: (RangeTest, RangeTest) => Boolean): Boolean =
      leftBelowRight.zip(rightBelowLeft).exists(hold.tupled)

    private def onBoth(side: Side)(holds: (Expression, Expression) => Boolean): Boolean =
      areBoth((a, b) => holds(a.on(side), b.on(side)))

    private def isPoint(side: Side): Boolean = onBoth(side)(_.semanticEquals(_))

    private def sharesColumns(side: Side): Boolean = onBoth(side)(_.references == _.references)

    /** Whether its tests share their columns, on one side at least. */
    def isRelated: Boolean = sides.exists(sharesColumns)

    /** Whether tests that share no columns are of one type. */
    def isOfOneType: Boolean = !isRelated &&
      areBoth((a, b) => DataTypeUtils.sameType(a.lesser.dataType, b.lesser.dataType))

    /** Whether the lesser values are of columns of the same names on either side, and so are the greater ones. */
    def isCrosswise: Boolean = !isRelated && {
      def names(e: Expression) = e.references.map(_.name.toLowerCase(Locale.ROOT)).toSet
      areBoth((a, b) =>
        names(a.lesser) == names(b.lesser) && names(a.greater) == names(b.greater))
    }

    /** Whether one test of another range is in it, and the other one is not. */
    def hasHalfOf(other: Range): Boolean =
      (leftBelowRight == other.leftBelowRight) != (rightBelowLeft == other.rightBelowLeft)

    private def hasEnclosingRange: Boolean =
      (leftBelowRight ++ rightBelowLeft).exists(_.isEnclosing)

    /**
     * How good the range is, the greater the better. An enclosing range lets pass what lies between its parts: it comes
     * after any other range whose ends are related.
     */
    def preference: (Boolean, Int, Int, Boolean) = (
      !hasEnclosingRange && isRelated,
      sides.count(sharesColumns),
      sides.count(isPoint),
      !hasEnclosingRange)

    /** Whether all conjuncts that it comes from are among these. */
    def isOf(conjuncts: Seq[Expression]): Boolean =
      (leftBelowRight ++ rightBelowLeft)
        .forall(test => conjuncts.exists(Predicates.haveSameValue(_, test.predicate)))

    /** The side to stream where the join type leaves the choice. */
    def streamed: Side = (leftBelowRight, rightBelowLeft) match {
      case (Some(_), None) => RightSide
      case (None, Some(_)) => LeftSide
      case _               =>
        sides.find(isPoint).orElse(sides.find(sharesColumns)).getOrElse(RightSide).other
    }
  }

  private def withRange(
      range: Range,
      streamed: Side,
      predicates: Seq[Expression]): RangeCondition = {
    val upper = streamed.of(range.rightBelowLeft, range.leftBelowRight)
    val lower = streamed.other.of(range.rightBelowLeft, range.leftBelowRight)
    val tests = upper.toSeq ++ lower
    // Conjuncts that the tests cover entirely, or that are true of every pair, are not evaluated again.
    val covered = tests.filter(isCovered(_, tests)).map(_.predicate) ++
      predicates.filter(_.isInstanceOf[OpenRange])
    RangeCondition(
      streamed,
      upper,
      lower,
      predicates.filter(p => tests.exists(_.predicate.eq(p))),
      predicates.filterNot(p => covered.exists(_.eq(p))).reduceOption(And)
    )
  }

  private def isCovered(test: RangeTest, tests: Seq[RangeTest]): Boolean = test.exact match {
    case Exact               => true
    case ExactWith(opposite) => tests.exists(t => t.ne(test) && t.predicate.eq(opposite))
    case Inexact             => false
  }
}

/**
 * What the range of a join follows from.
 *
 * @param left the columns of the left side
 * @param right the columns of the right side
 * @param streamed the side that has to be streamed, where it is not up to join type and range
 */
case class JoinCondition(
    joinType: JoinType,
    condition: Option[Expression],
    left: AttributeSet,
    right: AttributeSet,
    streamed: Option[Side] = None)

object JoinCondition {

  /** Of a join of a logical plan, whose equi keys are part of its condition. */
  def of(join: Join, streamed: Option[Side]): JoinCondition = {
    val condition = Predicates.conditionBesideKeys(join).getOrElse(join.condition)
    JoinCondition(join.joinType, condition, join.left.outputSet, join.right.outputSet, streamed)
  }

  /** Of a join that Spark has planned. */
  def of(join: BaseJoinExec, streamed: Option[Side]): JoinCondition =
    JoinCondition(
      join.joinType,
      join.condition,
      join.left.outputSet,
      join.right.outputSet,
      streamed)
}
