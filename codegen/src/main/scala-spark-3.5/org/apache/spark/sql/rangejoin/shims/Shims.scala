// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.{ConditionalExpression, Expression, NullIntolerant}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** Strings that are ordered by their bytes: in Spark 3.5, which has no collations, all of them. */
object BinaryStrings {

  /** Whether a column of strings may have an order of its own. */
  val haveCollations: Boolean = false

  /** Whether strings of this type are in the order of their bytes. */
  def isBinary(string: StringType): Boolean = true

  /** Compares bytes, as unsigned numbers. */
  def compare(a: UTF8String, b: UTF8String): Int = a.compareTo(b)
}

/** An expression none of whose children may be evaluated ahead of it. */
trait EvaluatedInPlace extends ConditionalExpression {
  override def alwaysEvaluatedInputs: Seq[Expression] = Nil

  override def branchGroups: Seq[Seq[Expression]] = Nil
}

/** An expression that is NULL where one of its children is. */
trait NullIntolerantExpression extends NullIntolerant
