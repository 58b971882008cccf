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

import scala.util.{Left, Right}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, JoinType}
import org.apache.spark.sql.rangejoin.codegen.OrderedLong

/**
 * Finds the range in the condition of a join: a pure function of the condition and of the columns
 * of the two sides.
 *
 * Every conjunct is read as range tests where it can be (see [[PredicateReader]]). Two tests, one
 * in each direction, become the range; all other conjuncts are the residual, evaluated for
 * candidates only. Where there is a choice, the two tests that share their columns are taken: they
 * bound a band or an interval, while two unrelated tests may bound nothing.
 */
object RangeExtractor {

  def extract(
      joinType: JoinType,
      condition: Option[Expression],
      left: AttributeSet,
      right: AttributeSet
  ): Either[Reason, RangeCondition] =
    for {
      _ <- Either.cond(joinType == Inner, (), Reason.UnsupportedJoinType(joinType))
      predicates <- condition.map(Predicates.split).toRight(Reason.NoCondition)
      _ <- predicates.find(!_.deterministic).map(Reason.Nondeterministic).toLeft(())
      tests <- readTests(predicates, left, right)
      (leftBelowRight, rightBelowLeft) = tests.partition(_.lesserSide == LeftSide)
      range <- choose(leftBelowRight, rightBelowLeft)
        .toRight(Reason.OneSidedRange(tests.map(_.predicate).distinct))
    } yield normalForm(range._1, range._2, predicates)

  /** Whether a condition compares anything at all, so that a reason to leave it is of interest. */
  def hasComparison(condition: Expression): Boolean =
    Predicates.split(condition).exists(_.isInstanceOf[BinaryComparison])

  private def readTests(
      predicates: Seq[Expression],
      left: AttributeSet,
      right: AttributeSet
  ): Either[Reason, Seq[RangeTest]] = {
    val (refused, tests) = new PredicateReader(left, right).read(predicates)
    if (tests.nonEmpty) Right(tests)
    else Left(refused.headOption.getOrElse(Reason.NoRangePredicate))
  }

  private def choose(
      leftBelowRight: Seq[RangeTest],
      rightBelowLeft: Seq[RangeTest]
  ): Option[(RangeTest, RangeTest)] = {
    val pairs = for (a <- leftBelowRight; b <- rightBelowLeft) yield (a, b)
    // maxByOption keeps the first of equals: the one written first.
    pairs.maxByOption { case (a, b) =>
      Seq(LeftSide, RightSide).count(sharesColumns(a, b, _))
    }
  }

  private def sharesColumns(a: RangeTest, b: RangeTest, side: Side): Boolean =
    a.on(side).references == b.on(side).references

  private def normalForm(
      leftBelowRight: RangeTest,
      rightBelowLeft: RangeTest,
      predicates: Seq[Expression]
  ): RangeCondition = {
    def isPoint(side: Side) = leftBelowRight.on(side).semanticEquals(rightBelowLeft.on(side))
    def isNearPoint(side: Side) = sharesColumns(leftBelowRight, rightBelowLeft, side)
    // A buffered side of points leaves the window in the order it came, and the window holds no
    // more than the range of one streamed row. Intervals would stay as long as the longest.
    val buffered = Seq[Side](RightSide, LeftSide)
      .find(isPoint)
      .orElse(Seq[Side](RightSide, LeftSide).find(isNearPoint))
      .getOrElse(RightSide)
    val streamed = buffered.other
    val (upper, lower) =
      if (streamed == LeftSide) (rightBelowLeft, leftBelowRight)
      else (leftBelowRight, rightBelowLeft)
    val used = predicates.filter(p => p.eq(upper.predicate) || p.eq(lower.predicate))
    // What both tests cover entirely need not be asked again.
    val covered = Seq(upper -> lower, lower -> upper).collect {
      case (test, other) if coversPredicate(test, other) => test.predicate
    }
    RangeCondition(
      streamed,
      upper,
      lower,
      used,
      predicates.filterNot(p => covered.exists(_.eq(p))).reduceOption(And)
    )
  }

  private def coversPredicate(test: RangeTest, other: RangeTest): Boolean = test.exact match {
    case Exact               => true
    case ExactWith(opposite) => other.predicate.eq(opposite)
    case Inexact             => false
  }
}

/** Conjuncts of a condition, and conditions on the types they compare. */
private[condition] object Predicates extends PredicateHelper {
  def split(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)

  def supported(expressions: Expression*): Boolean =
    expressions.forall(e => OrderedLong.supports(e.dataType))
}
