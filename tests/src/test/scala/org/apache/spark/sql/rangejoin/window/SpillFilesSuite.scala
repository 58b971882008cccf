// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import java.io.{EOFException, File, IOException, RandomAccessFile}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import scala.util.Random

import org.apache.spark.SparkConf

import org.scalatest.funsuite.AnyFunSuite

/** Blocks on disk: what comes back, how they are encoded, and when their files go. */
class SpillFilesSuite extends AnyFunSuite with TaskMemory {
  private val Text = "a window of rows ".getBytes(UTF_8)

  private def conf(settings: (String, String)*): SparkConf = new SparkConf(false).setAll(settings)

  private def block(size: Int, seed: Int): Array[Byte] = {
    val bytes = new Array[Byte](size)
    new Random(seed).nextBytes(bytes)
    bytes
  }

  private def read(files: SpillFiles, written: SpilledBytes): Seq[Byte] = {
    val bytes = new Array[Byte](written.length + 3)
    files.read(written, bytes)
    assert(bytes.takeRight(3).forall(_ == 0))
    bytes.toSeq.take(written.length)
  }

  private def contents(directory: File): String =
    directory.listFiles.map(f => new String(Files.readAllBytes(f.toPath), UTF_8)).mkString

  test("no file until there is a block") {
    withSpillFiles() { (files, directory) =>
      assert(files.fileCount == 0 && files.bytesWritten == 0L && directory.list().isEmpty)
    }
  }

  for {
    compressed <- Seq("true", "false")
    codec <- if (compressed == "true") Seq("lz4", "zstd", "snappy") else Seq("lz4")
    key <- Seq(None, Some(block(16, seed = 1)))
  } {
    val encryption = if (key.isDefined) "encrypted" else "plain"
    test(s"blocks come back: compressed $compressed, $codec, $encryption") {
      val settings = conf(
        "spark.shuffle.spill.compress" -> compressed,
        "spark.io.compression.codec" -> codec,
        "spark.io.encryption.enabled" -> key.isDefined.toString
      )
      withSpillFiles(conf = settings, encryptionKey = key) { (files, directory) =>
        val blocks = Seq(0, 1, 100, 70000, 300000).map(size => block(size, seed = size))
        val written = blocks.map(b => files.write(b, b.length))
        for (i <- Random.shuffle(blocks.indices ++ blocks.indices)) {
          assert(read(files, written(i)) == blocks(i).toSeq)
        }
        val text = Array.fill(1000)(Text).flatten
        val before = files.bytesWritten
        files.write(text, text.length)
        val took = files.bytesWritten - before
        if (compressed == "true") assert(took < text.length / 5) else assert(took >= text.length)
        assert(directory.listFiles.map(_.length).sum == files.bytesWritten)
        val legible = contents(directory).contains(new String(Text, UTF_8) * 3)
        assert(legible == (compressed == "false" && key.isEmpty))
      }
    }
  }

  test("a full file is deleted with its last block, one that is written to begins anew") {
    withSpillFiles(
      largestFile = 1000,
      conf = conf("spark.shuffle.spill.compress" -> "false")
    ) { (files, directory) =>
      val written = (1 to 25).map(i => files.write(block(100, i), 100))
      assert(files.fileCount == 3)
      written.take(9).foreach(files.release)
      assert(directory.list().length == 3)
      files.release(written(9))
      assert(files.fileCount == 2 && directory.list().length == 2)
      assert(read(files, written(24)) == block(100, 25).toSeq)
      written.drop(10).foreach(files.release)
      assert(files.fileCount == 1 && directory.list().length == 1)
      val again = files.write(block(100, 99), 100)
      assert(again.offset == 0L && read(files, again) == block(100, 99).toSeq)
    }
  }

  test("a file that was cut short, and one that cannot be made, are errors that name it") {
    withSpillFiles(conf = conf("spark.shuffle.spill.compress" -> "false")) { (files, directory) =>
      val written = files.write(block(1000, 1), 1000)
      val access = new RandomAccessFile(directory.listFiles.head, "rw")
      try access.setLength(500)
      finally access.close()
      intercept[EOFException](read(files, written))
    }
    val nowhere = new SpillFiles(
      serializer(conf()),
      () => (newBlockId(), new File("/nonexistent/directory/file"))
    )
    val error = intercept[IOException](nowhere.write(block(10, 1), 10))
    assert(error.getMessage.contains("/nonexistent/directory/file"))
    nowhere.close()
  }
}
