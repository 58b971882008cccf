// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.io.File
import java.net.{URL, URLClassLoader}
import java.util.jar.JarFile

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.rangejoin.doctored.QueriesJvm.Ran
import org.apache.spark.sql.rangejoin.guard.{Guard, GuardedQueries}

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

  /** On another Spark, with all that it needs. */
  def on(jars: Seq[File]): Seq[File] = ours +: queries +: jars

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
  private val queries = new QueriesJvm(directory)

  private lazy val stock: Ran = {
    val ran = run(Map.empty, isOurs = false)
    require(ran.rows.nonEmpty, ran.errors)
    ran
  }

  private lazy val planned: String = run(Map.empty, isOurs = true).planned

  def of(symbol: Symbol, replaced: Map[File, File]): Outcome = {
    val ran = run(replaced, isOurs = true)
    lazy val withoutUs = run(replaced, isOurs = false)
    if (ran.rows == stock.rows && ran.planned.nonEmpty) judged(symbol, ran)
    else if (withoutUs.rows != stock.rows)
      Impossible(s"Spark fails without us: ${withoutUs.firstError}")
    else Failed(s"${if (ran.rows.isEmpty) "an error" else "other rows"}: ${ran.firstError}")
  }

  private def judged(symbol: Symbol, ran: Ran): Outcome = {
    val ours = ran.warnings
    val said = s"${ours.size} warnings, ${ran.planned} of $planned planned"
    if (ours.isEmpty && ran.planned == planned && !symbol.isListed) NotMet
    else if (ours.isEmpty) Failed(s"no warning, ${ran.planned} of $planned planned")
    else if (!ours.forall(_.contains(Guard.Remedy)) || ran.off.isEmpty)
      Failed(s"$said, and no remedy")
    else if (symbol.isListed && (ours.size > 1 || ran.planned != "0")) Failed(said)
    else if (ours.distinct.size < ours.size) Failed(s"$said twice")
    else Passed(said)
  }

  private def run(replaced: Map[File, File], isOurs: Boolean): Ran =
    queries.run(path.after(replaced) ++ path.others, isOurs)
}
