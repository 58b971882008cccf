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

package org.apache.spark.sql.rangejoin.prepared

import org.apache.spark.rdd.InputFileBlockHolder
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateOrdering
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  SortOrder,
  UnsafeProjection,
  UnsafeRow
}

/**
 * The sort columns of rows, and their order; of one task, for all of its sources.
 *
 * @param order bound to a row
 */
private[prepared] final class SortKeys(order: Seq[SortOrder]) {
  private[this] val project = UnsafeProjection.create(order.map(_.child))

  private[this] val ordering = GenerateOrdering.generate(order.zipWithIndex.map { case (by, i) =>
    by.copy(
      child = BoundReference(i, by.child.dataType, by.child.nullable),
      sameOrderExpressions = Nil)
  })

  /** The sort columns of a row, valid until the next call. */
  def of(row: UnsafeRow): UnsafeRow = project(row)

  /** Compares sort columns. */
  def compare(a: UnsafeRow, b: UnsafeRow): Int = ordering.compare(a, b)
}

/**
 * Rows that are said to be in order, one at a time. Keeps the sort columns of the current one, to check
 * the order and for a merge to compare: the rows themselves are overwritten as the source goes on.
 *
 * @param outOfOrder the error where a row is less than the one before
 */
private[prepared] final class SortedSource(
    rows: Iterator[UnsafeRow],
    keys: SortKeys,
    outOfOrder: () => Throwable
) {

  /** The current row; null before the first and after the last. */
  var row: UnsafeRow = _

  /** Its sort columns. */
  var key: UnsafeRow = _

  private[this] var isOpen = false

  /**
   * The first call opens the file, which says so to `input_file_name`. A sort in this place would have
   * read all files, after which there is none.
   */
  private def hasMore: Boolean = {
    val more = rows.hasNext
    if (!isOpen) {
      isOpen = true
      InputFileBlockHolder.unset()
    }
    more
  }

  /** Goes on to the next row; false where there is none. */
  def advance(): Boolean =
    if (hasMore) {
      row = rows.next()
      val next = keys.of(row)
      if (key == null) key = next.copy()
      else {
        if (keys.compare(key, next) > 0) throw outOfOrder()
        key.copyFrom(next)
      }
      true
    } else {
      row = null
      false
    }

  /** All of them. */
  def all: Iterator[InternalRow] = new Iterator[InternalRow] {
    override def hasNext: Boolean = hasMore

    override def next(): InternalRow = {
      if (!advance()) throw new NoSuchElementException
      row
    }
  }
}

/**
 * The rows of several sources in the order of all: a heap of sources by their current rows. Of equal rows
 * any comes first.
 */
private[prepared] final class MergeIterator(sources: Array[SortedSource], keys: SortKeys)
    extends Iterator[InternalRow] {
  private[this] val heap = new Array[SortedSource](sources.length)
  private[this] var count = 0
  private[this] var begun = false
  // Whether the row of the first source has been handed out: it is gone once that goes on.
  private[this] var isTaken = false

  override def hasNext: Boolean = {
    settle()
    count > 0
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    isTaken = true
    heap(0).row
  }

  /** Has the next row at the top of the heap. */
  private[this] def settle(): Unit =
    if (!begun) {
      begun = true
      for (source <- sources if source.advance()) {
        heap(count) = source
        count += 1
      }
      var at = count / 2 - 1
      while (at >= 0) {
        sink(at)
        at -= 1
      }
    } else if (isTaken) {
      isTaken = false
      if (!heap(0).advance()) {
        count -= 1
        heap(0) = heap(count)
        heap(count) = null
      }
      if (count > 0) sink(0)
    }

  private[this] def sink(from: Int): Unit = {
    val source = heap(from)
    var at = from
    var done = false
    while (!done) {
      var child = 2 * at + 1
      if (child + 1 < count && keys.compare(heap(child + 1).key, heap(child).key) < 0)
        child += 1
      if (child < count && keys.compare(heap(child).key, source.key) < 0) {
        heap(at) = heap(child)
        at = child
      } else done = true
    }
    heap(at) = source
  }
}
