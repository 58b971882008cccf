// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import java.io.{File, RandomAccessFile}

import org.apache.spark.storage.BlockId

/** A file of blocks, opened at the first of them. */
private[window] final class SpillFile(val id: BlockId, file: File) {

  /** Blocks that were not released yet. */
  var blocks = 0

  /** Where the next block begins. */
  var length = 0L

  private[this] var access: RandomAccessFile = _

  def path: String = file.getPath

  def append(bytes: Array[Byte], count: Int): Unit = {
    if (access == null) access = new RandomAccessFile(file, "rw")
    access.seek(length)
    access.write(bytes, 0, count)
    length += count
    blocks += 1
  }

  def read(offset: Long, bytes: Array[Byte], count: Int): Unit = {
    access.seek(offset)
    access.readFully(bytes, 0, count)
  }

  /** Whether there is no such file any more. */
  def delete(): Boolean = {
    try if (access != null) access.close()
    finally access = null
    file.delete() || !file.exists()
  }
}
