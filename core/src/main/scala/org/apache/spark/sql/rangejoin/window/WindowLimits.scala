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
