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

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Where the rows of a window are kept. A row is stored once, can be read any number of times while
 * it is in the window, and is released when it leaves it; rows mostly leave in the order they came.
 * A store may keep rows elsewhere than in memory: a reference says nothing of the place.
 */
trait RowStore {

  /**
   * Copies a row into the store and returns the reference to read it by: a multiple of eight, so
   * that the window has bits for flags.
   */
  def append(row: UnsafeRow): Long

  /** Points `row` at a stored row. What was read stays valid until the next call of the store. */
  def read(reference: Long, row: UnsafeRow): Unit

  /** Gives up a stored row. */
  def release(reference: Long): Unit

  /** Gives up all rows, and keeps what memory the next ones can use. */
  def clear(): Unit

  /** Gives up everything. The store is not used afterwards. */
  def close(): Unit
}
