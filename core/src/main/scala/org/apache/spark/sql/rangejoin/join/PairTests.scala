// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.expressions.codegen.GeneratePredicate
import org.apache.spark.sql.catalyst.expressions.{
  BasePredicate,
  CodeGeneratorWithInterpretedFallback,
  Expression,
  Predicate
}
import org.apache.spark.sql.rangejoin.condition.{RangeCondition, UnknownBounds}

/** The predicates of a [[PairTestSpec]], over the streamed row followed by the buffered row. */
final case class PairTests(
    condition: BasePredicate,
    upperByValue: Option[BasePredicate] = None,
    lowerByValue: Option[BasePredicate] = None,
    unknown: UnknownBounds = UnknownBounds.All,
    areNeighbours: Boolean = false
)

object PairTests {

  /** The predicates of expressions bound to the streamed row followed by the buffered row. */
  def create(spec: PairTestSpec): PairTests = PairTests(
    PairPredicate.create(spec.condition),
    spec.upperByValue.map(PairPredicate.create),
    spec.lowerByValue.map(PairPredicate.create),
    spec.unknown,
    spec.areNeighbours
  )
}

/**
 * The tests for a pair whose bounds do not decide.
 *
 * @param condition the original condition of the join, for a bound that may be unknown
 * @param upperByValue the upper test itself, for equal prefixes; None where equal bounds pass it
 * @param lowerByValue likewise the lower test
 * @param unknown which bounds may be unknown
 * @param areNeighbours whether buffered rows are in the order of values, and those that match are neighbours
 */
final case class PairTestSpec(
    condition: Expression,
    upperByValue: Option[Expression],
    lowerByValue: Option[Expression],
    unknown: UnknownBounds,
    areNeighbours: Boolean
) {
  def map(f: Expression => Expression): PairTestSpec =
    PairTestSpec(f(condition), upperByValue.map(f), lowerByValue.map(f), unknown, areNeighbours)
}

object PairTestSpec {

  /**
   * @param inOrderOfLowerTest whether buffered rows are in the order of the lower test where there is no other, which
   *   they need not be unless their best ones are wanted
   */
  def of(
      range: RangeCondition,
      condition: Expression,
      inOrderOfLowerTest: Boolean): PairTestSpec =
    PairTestSpec(
      condition,
      range.upperByValue,
      range.lowerByValue,
      range.unknown,
      range.areNeighbours && (range.upperTest.isDefined || inOrderOfLowerTest)
    )
}

/**
 * A predicate that evaluates its conjuncts in their order, and none after one that does not hold.
 * Spark's own factory evaluates what conjuncts share ahead of them all, which raises where the stock
 * join, in whole-stage code, does not.
 */
object PairPredicate extends CodeGeneratorWithInterpretedFallback[Expression, BasePredicate] {

  def create(predicate: Expression): BasePredicate = createObject(predicate)

  override protected def createCodeGeneratedObject(predicate: Expression): BasePredicate =
    GeneratePredicate.generate(predicate, useSubexprElimination = false)

  override protected def createInterpretedObject(predicate: Expression): BasePredicate =
    Predicate.createInterpreted(predicate)
}
