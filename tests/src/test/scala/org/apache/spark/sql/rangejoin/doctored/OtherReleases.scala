// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.io.File
import java.net.URLClassLoader
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.rangejoin.guard.{GuardedQueries, Links}

import org.apache.commons.io.FileUtils

/**
 * `make releases`: whether our jar, which is compiled against one release of a line of Spark, fits the others, each with
 * the libraries that it was published with. A release has to have all that the jar links to, rules included, and every
 * query stock Spark's rows by a range join, without a warning. Exits with 1 where that is not so, or no release could be
 * fetched.
 */
object OtherReleases {

  def main(releases: Array[String]): Unit = {
    val directory = Files.createTempDirectory("releases").toFile
    val faultsOfTried =
      try {
        val other = new OtherReleases(directory)
        releases.toSeq.flatMap { release =>
          val found = other.faults(release)
          val said = found.fold("could not be fetched, and was not tried") { faults =>
            if (faults.isEmpty) other.passed else faults.mkString("\n  ")
          }
          println(s"Spark $release: $said")
          found
        }
      } finally FileUtils.deleteDirectory(directory)
    System.exit(if (faultsOfTried.nonEmpty && faultsOfTried.forall(_.isEmpty)) 0 else 1)
  }
}

final class OtherReleases(directory: File) {
  private val path = new SessionPath(directory)
  private val queries = new QueriesJvm(new File(directory, "session"))
  private val links =
    Files.readAllLines(Paths.get(System.getProperty("rangejoin.links")), UTF_8).asScala.toVector

  val passed: String =
    s"has all ${links.size} links, and stock Spark's rows in ${GuardedQueries.All.size} queries"

  /** None where the release could not be fetched. */
  def faults(release: String): Option[Seq[String]] = {
    val file = Paths.get(System.getProperty("rangejoin.releases"), release)
    val jars = Files.readAllLines(file, UTF_8).asScala.map(new File(_)).toVector
    if (jars.isEmpty) None
    else Some(missing(jars).map("it has no " + _) ++ ofQueries(path.on(jars)))
  }

  private def missing(jars: Seq[File]): Seq[String] = {
    val urls = (path.ours +: jars).map(_.toURI.toURL).toArray
    val loader = new URLClassLoader(urls, ClassLoader.getSystemClassLoader.getParent)
    try new Links(loader).missingOf(links, _ => true)
    finally loader.close()
  }

  private def ofQueries(classPath: Seq[File]): Seq[String] = {
    val stock = queries.run(classPath, isOurs = false)
    val ours = queries.run(classPath, isOurs = true)
    val wanted = GuardedQueries.All.size.toString
    Seq(
      stock.rows.isEmpty -> s"stock Spark fails: ${stock.firstError}",
      (ours.rows != stock.rows) -> s"queries have other rows, or fail: ${ours.firstError}",
      (ours.planned != wanted) -> s"${ours.planned} of $wanted queries have range joins",
      ours.warnings.nonEmpty -> ours.warnings.mkString(" ")
    ).collect { case (true, fault) => fault }
  }
}
