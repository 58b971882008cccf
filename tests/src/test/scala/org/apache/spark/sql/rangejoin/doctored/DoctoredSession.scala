// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.io.File
import java.lang.management.ManagementFactory
import java.net.{URL, URLClassLoader}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit
import java.util.jar.JarFile

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.rangejoin.RangeJoinExtensions
import org.apache.spark.sql.rangejoin.guard.{Guard, GuardedQueries}

import org.apache.commons.io.FileUtils

/** The class path of the queries: our jar, Spark's and others, and the classes of the queries in a jar. */
final class SessionPath(directory: File) {
  private val (spark, notSpark) =
    System.getProperty("java.class.path").split(File.pathSeparator).map(new File(_)).toSeq
      .filter(file => file.isFile && !isOurs(file)).partition(_.getName.startsWith("spark-"))

  val ours: File = new File(System.getProperty("rangejoin.jar"))

  val others: Seq[File] = notSpark

  private val queries =
    QueriesJar.write(directory, Seq(DoctoredQueries.getClass, GuardedQueries.getClass))

  /** What is doctored. */
  val doctored: Seq[File] = spark :+ queries

  def after(replaced: Map[File, File]): Seq[File] =
    ours +: doctored.map(jar => replaced.getOrElse(jar, jar))

  /** Of whichever module: sbt makes jars of their classes. */
  private def isOurs(file: File): Boolean = {
    val jar = new JarFile(file)
    try jar.entries.asScala.exists(_.getName.startsWith("org/apache/spark/sql/rangejoin/"))
    finally jar.close()
  }
}

/** Whether the list in the jar names what is missing of a Spark. */
final class DoctoredLists(path: SessionPath) {
  private val below =
    new URLClassLoader(urls(path.others), ClassLoader.getSystemClassLoader.getParent)

  private def urls(files: Seq[File]): Array[URL] = files.map(_.toURI.toURL).toArray

  def of(symbol: Symbol, replaced: Map[File, File]): Outcome = {
    val loader = new URLClassLoader(urls(path.after(replaced)), below)
    try {
      val links = loader.loadClass("org.apache.spark.sql.rangejoin.guard.Links")
      val missing = links.getMethod("missing")
        .invoke(links.getConstructor(classOf[ClassLoader]).newInstance(loader)).toString
      val isNamed = symbol.names.exists(missing.contains)
      if (isNamed) Named
      else if (!symbol.isListed) NotListed
      else if (missing.contains("(")) Failed(s"the list names $missing")
      else Failed(s"nothing is missing by the list: $missing")
    } catch { case NonFatal(e) => Failed(s"the list fails: $e, ${e.getCause}") }
    finally loader.close()
  }
}

/** Runs the queries in a JVM of a changed Spark. */
final class DoctoredSession(path: SessionPath, directory: File) {
  import DoctoredSession._

  private lazy val stock: Ran = {
    val ran = run(Map.empty, None)
    require(ran.rows.nonEmpty, ran.errors)
    ran
  }

  private lazy val planned: String = run(Map.empty, Some(Extension)).planned

  def of(symbol: Symbol, replaced: Map[File, File]): Outcome = {
    val ran = run(replaced, Some(Extension))
    lazy val withoutUs = run(replaced, None)
    if (ran.rows == stock.rows && ran.planned.nonEmpty) judged(symbol, ran)
    else if (withoutUs.rows != stock.rows)
      Impossible(s"Spark fails without us: ${withoutUs.firstError}")
    else Failed(s"${if (ran.rows.isEmpty) "an error" else "other rows"}: ${ran.firstError}")
  }

  private def judged(symbol: Symbol, ran: Ran): Outcome = {
    val ours = ran.errors.linesIterator.filter(_.contains("spark-range-join: ")).toSeq
    val said = s"${ours.size} warnings, ${ran.planned} of $planned planned"
    if (ours.isEmpty && ran.planned == planned && !symbol.isListed) NotMet
    else if (ours.isEmpty) Failed(s"no warning, ${ran.planned} of $planned planned")
    else if (!ours.forall(_.contains(Guard.Remedy)) || ran.off.isEmpty)
      Failed(s"$said, and no remedy")
    else if (symbol.isListed && (ours.size > 1 || ran.planned != "0")) Failed(said)
    else if (ours.distinct.size < ours.size) Failed(s"$said twice")
    else Passed(said)
  }

  private def run(replaced: Map[File, File], extension: Option[String]): Ran = {
    FileUtils.deleteDirectory(directory)
    directory.mkdirs()
    val errors = new File(directory, "errors")
    val options = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
      .filterNot(o => o.startsWith("-Drangejoin.") || o.startsWith("-Xm"))
    val classPath = (path.after(replaced) ++ path.others).mkString(File.pathSeparator)
    val command =
      Seq(Java) ++ options ++ Seq("-Xmx1g", "-cp", classPath, Main, directory.getPath) ++ extension
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

object DoctoredSession {
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
  private final case class Ran(rows: String, planned: String, off: String, errors: String) {
    def firstError: String = errors.linesIterator
      .filter(line => line.contains("Error: ") || line.contains("Exception: "))
      .take(2).mkString(" ").take(600)
  }
}
