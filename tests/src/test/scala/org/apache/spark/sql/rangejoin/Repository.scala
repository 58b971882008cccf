// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

/** The files of the repository, for tests that hold pages to the code. */
object Repository {
  private val home = Paths.get(System.getProperty("rangejoin.home"))

  /** The lines of a page. */
  def lines(path: String): Seq[String] = Files.readAllLines(home.resolve(path)).asScala.toSeq

  /** The files below a folder, as paths that start there. */
  def files(folder: String): Seq[Path] = {
    val root = home.resolve(folder)
    Using.resource(Files.walk(root)) {
      _.iterator.asScala.filter(Files.isRegularFile(_)).map(root.relativize).toVector
    }
  }

  /** The cells of the rows of the table whose header starts with these cells. */
  def table(page: String, header: String*): Seq[Seq[String]] =
    withHeader(page, header).drop(2)

  /** The cells of that header, all of them. */
  def header(page: String, beginning: String*): Seq[String] = withHeader(page, beginning).head

  private def withHeader(page: String, header: Seq[String]): Seq[Seq[String]] = {
    val rows = lines(page).map { line =>
      if (line.startsWith("|")) line.split('|').map(_.trim).toSeq.drop(1) else Nil
    }
    val at = rows.indexWhere(_.startsWith(header))
    require(at >= 0, s"$page has no table ${header.mkString("| ", " | ", " |")}")
    rows.drop(at).takeWhile(_.nonEmpty)
  }
}
