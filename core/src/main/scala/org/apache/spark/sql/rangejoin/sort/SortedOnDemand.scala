// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import org.apache.spark.rdd.InputFileBlockHolder
import org.apache.spark.sql.catalyst.expressions._

/**
 * The rows of a partition in order, which are not read before the first one of them is requested: a join that finds its
 * other side empty does not sort this one. Whether there are rows is known before. Looking for them opens the first
 * file of a scan, which sets `input_file_name()`; it is set again when rows are read, since the other side may have
 * been read in between.
 */
private[rangejoin] final class SortedOnDemand(rows: Iterator[UnsafeRow], sorter: PrefixSorter)
    extends Iterator[UnsafeRow] {
  private var sorted: Iterator[UnsafeRow] = _
  // Null before the first `hasNext`.
  private var nameFile: () => Unit = _

  override def hasNext: Boolean =
    if (sorted != null) sorted.hasNext
    else {
      val more = !sorter.isReleased && rows.hasNext
      if (nameFile == null) nameFile = naming()
      more
    }

  override def next(): UnsafeRow = {
    if (sorted == null) {
      if (nameFile != null) nameFile()
      rows.foreach(sorter.insert)
      sorted = sorter.sorted()
    }
    sorted.next()
  }

  /** Remembers which file is being read now; the result sets it again. */
  private def naming(): () => Unit = {
    val path = InputFileBlockHolder.getInputFilePath.toString
    val (start, length) = (InputFileBlockHolder.getStartOffset, InputFileBlockHolder.getLength)
    if (path.isEmpty) () => () else () => InputFileBlockHolder.set(path, start, length)
  }
}
