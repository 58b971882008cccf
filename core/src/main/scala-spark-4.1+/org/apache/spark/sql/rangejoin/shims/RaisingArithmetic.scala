// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.{EvalMode, NumericEvalContext}

/** How `Add`, `Subtract` and `Multiply` are told to raise on overflow. */
object RaisingArithmetic {
  type Mode = NumericEvalContext

  /** Raises on overflow, whatever the mode of the session. */
  val Raising: Mode = NumericEvalContext(EvalMode.ANSI)
}
