/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.condition

import scala.util.{Left, Right, Try}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.util.toPrettySQL

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
 *   1. that was written first.
 *
 * Which side is streamed is up to the join type ([[JoinTypeBehavior]]). Where it is open, points
 * are buffered and intervals streamed: points leave the window in the order they came, so that it
 * holds no more than the range of one streamed row, while intervals would stay as long as the
 * longest. A range of one direction streams the greater side, which then need not be sorted by its
 * bound, and whose scans visit nothing but matches.
 */
object RangeExtractor {

  /**
   * The range of a join, or why there is none.
   *
   * @param streamed the side that has to be streamed, where it is not up to join type and range
   */
  def extract(
      joinType: JoinType,
      condition: Option[Expression],
      left: AttributeSet,
      right: AttributeSet,
      streamed: Option[Side] = None
  ): Either[Reason, RangeCondition] =
    for {
      behavior <- JoinTypeBehavior.of(joinType).toRight(Reason.UnsupportedJoinType(joinType))
      predicates <- condition.map(Predicates.split).toRight(Reason.NoCondition)
      _ <- predicates.find(!_.deterministic).map(Reason.Nondeterministic).toLeft(())
      tests <- readTests(predicates, left, right)
    } yield {
      val range = choose(tests).map(OpenEnds.withoutNulls(_, predicates))
      val side = streamed.orElse(behavior.streamed).getOrElse(range.streamed)
      withRange(range, side, predicates)
    }

  /**
   * The normal form of a join with or without a range: the range of its condition or, where there is
   * none, neither of the two tests and the whole condition as the residual.
   */
  def normalForm(
      joinType: JoinType,
      condition: Option[Expression],
      left: AttributeSet,
      right: AttributeSet,
      streamed: Option[Side] = None
  ): Either[Reason, RangeCondition] =
    extract(joinType, condition, left, right, streamed) match {
      case Left(_: Reason.NoRange) => Right(withoutRange(joinType, condition, streamed))
      case other                   => other
    }

  private def withoutRange(
      joinType: JoinType,
      condition: Option[Expression],
      wanted: Option[Side]
  ): RangeCondition = {
    val streamed = wanted.orElse(JoinTypeBehavior.of(joinType).flatMap(_.streamed))
    RangeCondition(streamed.getOrElse(LeftSide), None, None, Nil, condition)
  }

  /** Whether a condition compares anything at all, so that a reason to leave it is of interest. */
  def hasComparison(condition: Expression): Boolean =
    condition.exists(Comparison.of(_).isDefined)

  private def readTests(
      predicates: Seq[Expression],
      left: AttributeSet,
      right: AttributeSet
  ): Either[Reason, Seq[RangeTest]] = {
    val (refused, tests) = new PredicateReader(left, right).read(predicates)
    if (tests.nonEmpty) Right(tests)
    else Left(refused.headOption.orElse(nested(predicates, left, right)).getOrElse(
      Reason.NoRangePredicate))
  }

  /** A comparison of the sides that is no conjunct, but a part of one. */
  private def nested(
      predicates: Seq[Expression],
      left: AttributeSet,
      right: AttributeSet
  ): Option[Reason] = {
    def compares(e: Expression) =
      Comparison.of(e).isDefined && e.references.intersect(left).nonEmpty &&
        e.references.intersect(right).nonEmpty
    predicates.find(p => Comparison.of(p).isEmpty && p.exists(compares)).map(Reason.NoConjunct)
  }

  private def choose(tests: Seq[RangeTest]): Range = {
    val (leftBelowRight, rightBelowLeft) = tests.partition(_.lesserSide == LeftSide)
    val pairs = for (a <- leftBelowRight; b <- rightBelowLeft) yield Range(Some(a), Some(b))
    if (pairs.isEmpty) Range(leftBelowRight.headOption, rightBelowLeft.headOption)
    // maxBy keeps the first of equals.
    else pairs.maxBy(_.preference)
  }

  /** The tests of a range, at most one in each direction. */
  private case class Range(leftBelowRight: Option[RangeTest], rightBelowLeft: Option[RangeTest]) {
    def map(f: RangeTest => RangeTest): Range = Range(leftBelowRight.map(f), rightBelowLeft.map(f))

    private val sides = Seq[Side](RightSide, LeftSide)

    private def onBoth(side: Side)(holds: (Expression, Expression) => Boolean): Boolean =
      leftBelowRight.zip(rightBelowLeft).exists { case (a, b) => holds(a.on(side), b.on(side)) }

    private def isPoint(side: Side): Boolean = onBoth(side)(_.semanticEquals(_))

    private def sharesColumns(side: Side): Boolean = onBoth(side)(_.references == _.references)

    private def hasHull: Boolean =
      (leftBelowRight ++ rightBelowLeft).exists(_.isHull)

    /**
     * How good the range is, the greater the better. A hull lets pass what lies between its parts: it
     * comes after any other range whose ends are related.
     */
    def preference: (Boolean, Int, Int, Boolean) = {
      val withSharedColumns = sides.count(sharesColumns)
      (!hasHull && withSharedColumns > 0, withSharedColumns, sides.count(isPoint), !hasHull)
    }

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
      predicates: Seq[Expression]
  ): RangeCondition = {
    val (upper, lower) =
      if (streamed == LeftSide) (range.rightBelowLeft, range.leftBelowRight)
      else (range.leftBelowRight, range.rightBelowLeft)
    val tests = upper.toSeq ++ lower
    // What the tests cover entirely need not be asked again.
    val covered = tests.filter(isCovered(_, tests)).map(_.predicate)
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

/** Conjuncts of a condition. */
private[rangejoin] object Predicates extends PredicateHelper {
  def split(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)

  /**
   * An expression as a user would write it. Spark's own way puts names in the place of parts, which what
   * checks its parts does not stand.
   */
  def display(e: Expression): String = Try(toPrettySQL(e)).getOrElse(e.sql)
}
