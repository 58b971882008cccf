// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.expressions.codegen.GeneratePredicate
import org.apache.spark.sql.catalyst.expressions.{
  BasePredicate,
  CodeGeneratorWithInterpretedFallback,
  Expression,
  Predicate
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
