// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.{
  EvalMode,
  Expression,
  NumericEvalContext,
  TimestampAddInterval
}
import org.apache.spark.sql.internal.SQLConf

/** How `Add`, `Subtract` and `Multiply` are told to raise on overflow. */
object RaisingArithmetic {
  type Mode = NumericEvalContext

  /** Raises on overflow, whatever the mode of the session. */
  val Raising: Mode = NumericEvalContext(EvalMode.ANSI)
}

/** `timestamp + interval`: matches the timestamp and the interval. */
object TimestampPlusInterval {
  def unapply(e: Expression): Option[(Expression, Expression)] = e match {
    case TimestampAddInterval(timestamp, interval, _) => Some((timestamp, interval))
    case _                                            => None
  }
}

/** Spark's limit to the bytes that a sort-merge join buffers before it spills. */
object WindowBytes {
  def of(conf: SQLConf): Long = conf.sortMergeJoinExecBufferSpillSizeThreshold
}
