// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

/** The two blocks of rows on disk that were requested last, in memory. */
private[window] final class LoadedBlocks(files: SpillFiles) {
  private[this] var last = new RowBlock
  private[this] var bytesOfLast: SpilledBytes = _
  private[this] var before = new RowBlock
  private[this] var bytesOfBefore: SpilledBytes = _
  private[this] var blockReads = 0L

  /** Blocks read from disk so far. */
  def reads: Long = blockReads

  /** The rows that were written as these bytes, until those of two other blocks are requested. */
  def apply(bytes: SpilledBytes): RowBlock = {
    if (bytesOfLast ne bytes) {
      swap()
      if (bytesOfLast ne bytes) {
        bytesOfLast = null
        last.readFrom(files, bytes)
        bytesOfLast = bytes
        blockReads += 1
      }
    }
    last
  }

  /** Takes rows that were just written for loaded; returns a block to be filled. */
  def exchange(bytes: SpilledBytes, rows: RowBlock): RowBlock = {
    swap()
    val former = last
    last = rows
    bytesOfLast = bytes
    former
  }

  /** Takes neither block for loaded. */
  def forget(): Unit = {
    bytesOfLast = null
    last.clear()
    bytesOfBefore = null
    before.clear()
  }

  def close(): Unit = {
    forget()
    last = null
    before = null
  }

  private def swap(): Unit = {
    val rows = last
    val bytes = bytesOfLast
    last = before
    bytesOfLast = bytesOfBefore
    before = rows
    bytesOfBefore = bytes
  }
}
