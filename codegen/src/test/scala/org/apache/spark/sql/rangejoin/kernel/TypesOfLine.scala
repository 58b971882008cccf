// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import scala.util.Try

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.types.DataType

/** Types that are not there in every line of Spark: tests take each where it is. */
object TypesOfLine {

  /** Whether this Spark is of the line, or of a later one. */
  def since(major: Int, minor: Int): Boolean = {
    val found = SPARK_VERSION.split('.').map(_.takeWhile(_.isDigit))
    found(0).toInt > major || (found(0).toInt == major && found(1).toInt >= minor)
  }

  /** The type TIME. */
  lazy val time: Option[DataType] = typeSince(4, 1)("TIME(6)")

  /** Strings of a collation. */
  def collated(name: String): Option[DataType] = typeSince(4, 0)(s"STRING COLLATE $name")

  private val NamesTime = """.*\bTIME\b.*"""
  private val NamesCollation = """.*\bCOLLATE\b.*"""

  /** Whether all types are there that a type or an expression in SQL names. */
  def knows(sql: String): Boolean =
    (!sql.matches(NamesTime) || time.isDefined) && (!sql.matches(NamesCollation) || hasCollations)

  /** Whether strings may have a collation. */
  lazy val hasCollations: Boolean = collated("UTF8_LCASE").isDefined

  private def typeSince(major: Int, minor: Int)(ddl: String): Option[DataType] = {
    val found = Try(CatalystSqlParser.parseDataType(ddl)).toOption
    assert(found.isDefined == since(major, minor), s"$ddl in Spark $SPARK_VERSION: $found")
    found
  }
}
