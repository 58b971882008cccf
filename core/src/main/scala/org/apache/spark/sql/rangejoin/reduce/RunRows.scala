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

package org.apache.spark.sql.rangejoin.reduce

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Rows by their positions; the matches of a streamed row are a run of them. */
trait RunRows {

  /** Number of columns of a row. */
  def runFields: Int

  /** Rows before this position are not needed any more. */
  def firstOfRuns: Int

  /** Points `row` at a row, valid until the next call. */
  def readRun(position: Int, row: UnsafeRow): Unit
}
