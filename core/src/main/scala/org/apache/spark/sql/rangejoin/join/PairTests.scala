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

/**
 * The tests for a pair whose bounds do not decide: expressions or, in a task, predicates, over the streamed row followed
 * by the buffered row.
 *
 * @param condition the original condition of the join, for a bound that may be unknown
 * @param upperByValue the upper test itself, for equal prefixes; None where equal bounds pass it
 * @param lowerByValue likewise the lower test
 * @param unknown which bounds may be unknown
 * @param areNeighbours whether buffered rows are in the order of values, and those that match are neighbours
 */
final case class PairTests[T](
    condition: T,
    upperByValue: Option[T] = None,
    lowerByValue: Option[T] = None,
    unknown: UnknownBounds = UnknownBounds.All,
    areNeighbours: Boolean = false) {

  def map[R](f: T => R): PairTests[R] =
    PairTests(f(condition), upperByValue.map(f), lowerByValue.map(f), unknown, areNeighbours)
}

object PairTests {

  /**
   * @param inOrderOfLowerTest whether buffered rows are in the order of the lower test where there is no other, which
   *   they need not be unless their best ones are wanted
   */
  def of(
      range: RangeCondition,
      condition: Expression,
      inOrderOfLowerTest: Boolean): PairTests[Expression] =
    PairTests(
      condition,
      range.upperByValue,
      range.lowerByValue,
      range.unknown,
      range.areNeighbours && (range.upperTest.isDefined || inOrderOfLowerTest))
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
