// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine

/**
 * What the Spark of this line can do and others cannot, as the table of docs/compatibility.md says and
 * [[LineAbilitiesSuite]] finds. Suites ask here before they test what is not there everywhere.
 */
object LineAbilities {
  private val Page = "docs/compatibility.md"
  private val Header = """(\d+)\.(\d+)( and later)?""".r

  /** The rows of the table, and whether this line can do it. */
  lazy val all: Map[String, Boolean] = {
    val lines = Repository.header(Page, "", "3.5").tail
    val column = lines.lastIndexWhere {
      case Header(major, minor, andLater) =>
        SPARK_VERSION.startsWith(s"$major.$minor.") ||
        (andLater != null && TypesOfLine.since(major.toInt, minor.toInt))
      case other => throw new IllegalStateException(s"$Page: no line is called $other")
    }
    require(column >= 0, s"$Page has no column for Spark $SPARK_VERSION")
    Repository.table(Page, "", "3.5").map { row =>
      require(Set("yes", "–").contains(row(column + 1)), row)
      row.head -> (row(column + 1) == "yes")
    }.toMap
  }

  /** Whether extensions may add to EXPLAIN. */
  lazy val explains: Boolean = can("EXPLAIN")

  /** Whether joins spill by bytes. */
  lazy val spillsByBytes: Boolean = can("windows that spill by bytes")

  /** Whether this line can do what the row is about that begins so. */
  def can(beginning: String): Boolean = {
    val found = all.filter { case (row, _) => row.startsWith(beginning) }
    require(found.size == 1, s"rows of $Page that begin with $beginning: ${found.keys}")
    found.head._2
  }
}
