// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions._

/**
 * Why a predicate that compares the sides is no range, in the words of a user who has written comparisons.
 *
 * @param testsOf the tests that conjuncts imply
 */
private[condition] class Refusal(
    sideOf: Expression => Option[Side],
    testsOf: Seq[Expression] => Seq[RangeTest]) {

  /** None where the predicate does not compare the sides. */
  def of(predicate: Expression): Option[Reason] = predicate match {
    case or: Or => Some(or).filter(_.exists(comparesSides)).map(ofAlternatives)
    case _      => Comparison.of(predicate) match {
        case Some(c) => ofComparison(c)
        case None    => Some(predicate).filter(_.exists(comparesSides)).map(Reason.NoConjunct)
      }
  }

  private def comparesSides(e: Expression): Boolean =
    Comparison.of(e).isDefined && isOfBoth(e)

  private def isOfBoth(e: Expression): Boolean = e.references.nonEmpty && sideOf(e).isEmpty

  private def ofComparison(c: Comparison): Option[Reason] =
    if (!isOfBoth(c.lesser) && !isOfBoth(c.greater)) None
    else if (Difference.of(c.greater, sideOf).exists(_.absolute)) {
      Some(Reason.OutsideOfRange(c.predicate))
    } else Some(Reason.MixedSides(c.predicate))

  private def ofAlternatives(or: Or): Reason = {
    // A part that reads one side alone opens that side, and so is no reason.
    val tests = Predicates.alternatives(or).map(Predicates.split)
      .map(part => part -> testsOf(part))
      .collect {
        case (part, partTests) if partTests.nonEmpty || part.forall(isOfBoth) => partTests
      }
    def directions = tests.map(_.map(_.lesserSide).toSet)
      .reduceOption(_ intersect _).getOrElse(Set.empty)
    if (tests.isEmpty || tests.exists(_.isEmpty)) Reason.NoConjunct(or)
    else if (!EnclosingRange.areCompared(tests.flatten)) Reason.DifferentColumns(or)
    else if (directions.isEmpty) Reason.OutsideOfRange(or)
    else Reason.NoConjunct(or)
  }
}
