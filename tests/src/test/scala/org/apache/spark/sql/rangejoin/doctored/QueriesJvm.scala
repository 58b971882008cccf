// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.io.File
import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.rangejoin.RangeJoinExtensions

import org.apache.commons.io.FileUtils

/** Runs the [[DoctoredQueries queries]] in a JVM of their own, which has the directory for its files. */
final class QueriesJvm(directory: File) {
  import QueriesJvm._

  /** @param isOurs whether the session has our extension */
  def run(classPath: Seq[File], isOurs: Boolean): Ran = {
    FileUtils.deleteDirectory(directory)
    directory.mkdirs()
    val errors = new File(directory, "errors")
    val options = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
      .filterNot(o => o.startsWith("-Drangejoin.") || o.startsWith("-Xm"))
    val path = classPath.mkString(File.pathSeparator)
    val command = Seq(Java) ++ options ++ Seq("-Xmx1g", "-cp", path, Main, directory.getPath) ++
      Some(Extension).filter(_ => isOurs)
    val process =
      new ProcessBuilder(command.asJava).redirectErrorStream(true).redirectOutput(errors).start()
    if (!process.waitFor(Limit, TimeUnit.SECONDS)) process.destroyForcibly().waitFor()
    def read(name: String): String = {
      val file = new File(directory, name)
      if (file.exists) FileUtils.readFileToString(file, UTF_8) else ""
    }
    Ran(read("rows"), read("planned"), read("off"), read("errors"))
  }
}

object QueriesJvm {
  private val Java = System.getProperty("java.home") + "/bin/java"
  private val Extension = classOf[RangeJoinExtensions].getName
  private val Main = DoctoredQueries.getClass.getName.stripSuffix("$")

  /** Seconds after which queries are taken not to end. */
  private val Limit = 180L

  /**
   * @param rows of all queries
   * @param planned how many of them have range joins
   * @param off what is switched off
   * @param errors what was logged
   */
  final case class Ran(rows: String, planned: String, off: String, errors: String) {

    /** What our extension has logged. */
    def warnings: Seq[String] = errors.linesIterator.filter(_.contains("spark-range-join: ")).toSeq

    def firstError: String = errors.linesIterator
      .filter(line => line.contains("Error: ") || line.contains("Exception: "))
      .take(2).mkString(" ").take(600)
  }
}
