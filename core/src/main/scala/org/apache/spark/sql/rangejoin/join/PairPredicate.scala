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
