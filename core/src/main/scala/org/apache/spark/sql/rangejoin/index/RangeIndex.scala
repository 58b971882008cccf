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

package org.apache.spark.sql.rangejoin.index

/**
 * The broadcast side of a range join: rows in groups of one key, within a group by sort bound, and
 * their bounds beside them.
 *
 * {{{
 *   key ──▶ group ──▶ rows from starts(group) until starts(group + 1)
 *                     bounds(i)  of row i
 * }}}
 *
 * Without rows that cannot match: those with NULL in a key or in a bound. A group of a few rows is not
 * searched; where all groups are that small there are no bounds, and the index is no more than
 * a hashed relation. Immutable, and shared by the tasks of an executor, each of which has a cursor of
 * its own.
 *
 * @param descending whether bounds are those of the lower test alone, each with its bits turned, so
 *   that they rise where the test asks for it
 * @param bounds null where no group is searched
 * @param asks which tests a search asks of rows
 * @param isOfNoRows whether there were no rows, of any kind, to build it of
 * @param smallGroup groups of up to this number of rows are not searched
 */
final class RangeIndex private[index] (
    private[index] val directory: KeyDirectory,
    private[index] val starts: Array[Int],
    private[index] val bounds: IndexBounds,
    private[index] val rows: PackedRows,
    private[index] val fields: Int,
    private[index] val descending: Boolean,
    private[index] val asks: Asks,
    private[index] val smallGroup: Int,
    val isOfNoRows: Boolean,
    val buildNanos: Long
) extends BroadcastRelation
    with Serializable {

  /** The number of rows that can match. */
  def size: Int = rows.size

  def isEmpty: Boolean = size == 0

  /** Bytes of heap. */
  override def estimatedSize: Long = RangeIndex.Objects + directory.estimatedSize +
    starts.length * 4L + rows.estimatedSize + (if (bounds == null) 0L else bounds.estimatedSize)

  /** Whether no two rows have the same key. */
  override def keyIsUnique: Boolean = rows.size < starts.length

  def cursor(): RangeCursor = new RangeCursor(this)
}

/**
 * Which bounds are prefixes, so that a search has to ask the test itself of some rows.
 *
 * @param sort those that rows are sorted by
 * @param evict those of the second test
 */
private[index] final case class Asks(sort: Boolean, evict: Boolean)

private[index] object RangeIndex {

  /** Headers of arrays and objects, roughly. */
  val Objects = 256L
}
