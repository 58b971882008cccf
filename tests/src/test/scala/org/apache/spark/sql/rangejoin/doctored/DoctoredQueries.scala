// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.doctored

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.rangejoin.guard.{Guard, GuardedQueries}

/**
 * Runs the queries in a JVM of a [[DoctoredSparks doctored Spark]], and writes down their rows: `DIRECTORY [EXTENSION]`. It
 * names of Spark only what every Spark has, and is itself doctored with it.
 */
object DoctoredQueries {

  def main(args: Array[String]): Unit = {
    val directory = Paths.get(args(0))
    val session = started(directory, args.drop(1).headOption)
    def write(name: String, text: String): Unit =
      Files.write(directory.resolve(name), text.getBytes(UTF_8))
    write("started", "")
    GuardedQueries.Views.foreach(session.sql)
    def ofEach[T](run: String => T): Seq[T] = GuardedQueries.All.map { case (settings, query) =>
      settings.foreach { case (key, value) => session.conf.set(key, value) }
      run(query)
    }
    val rows = ofEach { query =>
      session.sql(query).collect().map(_.toString).sorted.mkString(query + "\n", "\n", "\n")
    }
    write("rows", rows.mkString("\n"))
    val planned = ofEach { query =>
      session.sql("EXPLAIN " + query).collect().head.toString.contains("RangeJoin")
    }
    write("planned", planned.count(identity).toString)
    if (args.length > 1) write("off", Guard.of(session).switchedOff.mkString("\n"))
    // Without the seconds that Spark takes to end.
    Runtime.getRuntime.halt(0)
  }

  private def started(directory: Path, extension: Option[String]): SparkSession = {
    val settings = Seq(
      "spark.ui.enabled" -> "false",
      "spark.sql.shuffle.partitions" -> "3",
      "spark.sql.warehouse.dir" -> directory.resolve("warehouse").toString
    ) ++ extension.map("spark.sql.extensions" -> _)
    settings.foldLeft(SparkSession.builder().master("local[2]").appName("doctored")) {
      case (builder, (key, value)) => builder.config(key, value)
    }.getOrCreate()
  }
}
