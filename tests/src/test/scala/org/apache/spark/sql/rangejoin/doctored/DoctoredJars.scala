// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.io.{BufferedOutputStream, File, FileOutputStream}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.zip.{CRC32, ZipEntry, ZipOutputStream}

import scala.util.control.NonFatal

/** Spark's jars with a [[Change]]: a jar without any class that is changed is taken as it is. */
final class DoctoredJars(classes: SparkClasses) {

  // To look for a name in all of them is faster than to read them as classes.
  private val texts: Map[File, Map[String, String]] =
    classes.entries.map { case (jar, entries) =>
      jar -> entries.collect {
        case (name, bytes) if name.endsWith(".class") || name.startsWith("META-INF/services/") =>
          name -> new String(bytes, ISO_8859_1)
      }
    }

  /** Where the jars are after a change. */
  def write(change: Change, directory: File): Map[File, File] =
    classes.entries.keys.flatMap { jar =>
      val changed = texts(jar).filter(_._2.contains(change.mark)).flatMap { case (entry, _) =>
        changedEntry(change, entry, classes.entries(jar)(entry)).map(entry -> _)
      }
      if (changed.isEmpty) None
      else {
        val to = new File(directory, jar.getName)
        writeJar(to, classes.entries(jar) -- changed.keys ++ changed.values)
        Some(jar -> to)
      }
    }.toMap

  private def changedEntry(
      change: Change,
      entry: String,
      bytes: Array[Byte]): Option[(String, Array[Byte])] =
    if (entry.endsWith(".class")) {
      val changed =
        try change.of(bytes)
        catch {
          case NonFatal(e) => throw new IllegalStateException(s"$entry cannot be changed", e)
        }
      changed.map(change.nameOf(entry.stripSuffix(".class")) + ".class" -> _)
    } else {
      val text = new String(bytes, UTF_8)
      Some(change.ofText(text)).filter(_ != text).map(entry -> _.getBytes(UTF_8))
    }

  /** Not compressed, which takes most of the time. */
  private def writeJar(jar: File, entries: Map[String, Array[Byte]]): Unit = {
    val out = new ZipOutputStream(new BufferedOutputStream(new FileOutputStream(jar), 1 << 20))
    try for ((name, bytes) <- entries) {
        val checksum = new CRC32
        checksum.update(bytes)
        val entry = new ZipEntry(name)
        entry.setMethod(ZipEntry.STORED)
        entry.setSize(bytes.length)
        entry.setCrc(checksum.getValue)
        out.putNextEntry(entry)
        out.write(bytes)
        out.closeEntry()
      }
    finally out.close()
  }
}
