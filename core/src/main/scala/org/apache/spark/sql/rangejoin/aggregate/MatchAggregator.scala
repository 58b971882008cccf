// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{CodeGeneratorWithInterpretedFallback, UnsafeRow}

/** The buffer of one aggregation, in a task. */
abstract class MatchAggregator {

  /** Begins with no rows. */
  def clear(): Unit

  def update(row: InternalRow): Unit

  /** Takes the rows of another buffer, behind those that there are. */
  def merge(other: InternalRow): Unit

  /** What has been aggregated, valid until something else is. */
  def result(): UnsafeRow
}

/** Generated, or interpreted where Spark is told to, or has to, or a buffer has strings and the like. */
object MatchAggregator
    extends CodeGeneratorWithInterpretedFallback[MatchAggregation, MatchAggregator] {

  def create(aggregation: MatchAggregation): MatchAggregator =
    if (aggregation.isFixed) createObject(aggregation) else createInterpretedObject(aggregation)

  override protected def createCodeGeneratedObject(aggregation: MatchAggregation): MatchAggregator =
    GenerateMatchAggregator.generate(aggregation)

  override protected def createInterpretedObject(aggregation: MatchAggregation): MatchAggregator =
    new InterpretedMatchAggregator(aggregation)
}
