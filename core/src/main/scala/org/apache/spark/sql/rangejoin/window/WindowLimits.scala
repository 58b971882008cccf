// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

/**
 * The most that a window holds in memory before its rows spill.
 *
 * @param rows number of rows, 1 at least
 * @param bytes bytes of the task's memory
 */
case class WindowLimits(rows: Int, bytes: Long) {
  require(rows > 0, s"a window needs room for one row at least: $rows")

  private[window] def rowsOfBlock: Int = math.min(rows, WindowLimits.MostRowsOfBlock)
}

object WindowLimits {
  private val MostRowsOfBlock = 4096

  /** As many rows as there is memory for. */
  val Unlimited: WindowLimits = WindowLimits(Int.MaxValue, Long.MaxValue)
}
