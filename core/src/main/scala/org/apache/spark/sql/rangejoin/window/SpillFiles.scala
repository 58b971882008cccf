// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import java.io.{
  ByteArrayInputStream,
  ByteArrayOutputStream,
  EOFException,
  File,
  InputStream,
  RandomAccessFile
}

import org.apache.spark.internal.Logging
import org.apache.spark.serializer.SerializerManager
import org.apache.spark.storage.BlockId

/**
 * Blocks of bytes on disk, compressed and encrypted as Spark's settings ask. Each block is a stream
 * of its own and is read alone. A file takes blocks until it is `largestFile` bytes long; it is
 * deleted as soon as it is full and its last block was released, all of them by `close`.
 *
 * @param newFile a new name for a file, and the id by which Spark decides how it is encoded
 */
final class SpillFiles(
    serializer: SerializerManager,
    newFile: () => (BlockId, File),
    largestFile: Long = SpillFiles.LargestFile
) extends AutoCloseable with Logging {
  import SpillFiles._

  private[this] val files = new java.util.ArrayList[SpillFile]()
  private[this] var current: SpillFile = _
  private[this] var encoded = new ExposedBytes
  private[this] var input = Array.emptyByteArray
  private[this] var written = 0L

  /** Bytes written so far, as they are on disk. */
  def bytesWritten: Long = written

  /** Number of files there are now. */
  def fileCount: Int = files.size

  /** Writes the first `length` bytes of an array as a block. */
  def write(bytes: Array[Byte], length: Int): SpilledBytes = {
    if (current == null) {
      val (id, file) = newFile()
      current = new SpillFile(id, file)
      files.add(current)
    }
    encoded.reset()
    val out = serializer.wrapStream(current.id, encoded)
    try out.write(bytes, 0, length)
    finally out.close()
    val file = current
    val block = new SpilledBytes(file, file.length, encoded.size, length)
    file.append(encoded.array, encoded.size)
    written += encoded.size
    if (encoded.array.length > RowBlock.KeptBytes) encoded = new ExposedBytes
    if (file.length >= largestFile) current = null
    block
  }

  /** Reads a block into an array that is long enough. */
  def read(block: SpilledBytes, bytes: Array[Byte]): Unit = {
    if (input.length < block.encodedLength) input = new Array[Byte](block.encodedLength)
    block.file.read(block.offset, input, block.encodedLength)
    val in =
      serializer.wrapStream(block.file.id, new ByteArrayInputStream(input, 0, block.encodedLength))
    try {
      val count = readUpTo(in, bytes, block.length)
      if (input.length > RowBlock.KeptBytes) input = Array.emptyByteArray
      if (count < block.length) throw new EOFException(
        s"${block.file.path}: a block at ${block.offset} ends after $count of ${block.length} bytes")
    } finally in.close()
  }

  /** `InputStream.readNBytes`, which Java 8 does not have. */
  private def readUpTo(in: InputStream, bytes: Array[Byte], length: Int): Int = {
    var count = 0
    var last = 0
    while (last >= 0 && count < length) {
      last = in.read(bytes, count, length - count)
      if (last > 0) count += last
    }
    count
  }

  /** Gives up a block. */
  def release(block: SpilledBytes): Unit = {
    val file = block.file
    file.blocks -= 1
    if (file.blocks == 0) {
      // The file that is written to begins anew.
      if (file eq current) file.length = 0L
      else {
        files.remove(file)
        delete(file)
      }
    }
  }

  override def close(): Unit = {
    files.forEach(file => delete(file))
    files.clear()
    current = null
  }

  private def delete(file: SpillFile): Unit =
    if (!file.delete()) logWarning(s"Error deleting the spill file ${file.path}")
}

object SpillFiles {

  /** A window that slides on leaves files behind; they go in pieces of this size. */
  private val LargestFile = 64L << 20

  private class ExposedBytes extends ByteArrayOutputStream {
    def array: Array[Byte] = buf
  }
}

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

/** A block in a spill file. */
private[window] final class SpilledBytes(
    val file: SpillFile,
    val offset: Long,
    val encodedLength: Int,
    val length: Int
)
