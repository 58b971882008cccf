// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.kernel.TypesOfLine

/** Types that a range or a key may be of, with five values each, in rising order, as SQL. */
object SampleTypes {

  private val numbers = Seq(
    "TINYINT" -> "-128 -1 0 1 127",
    "SMALLINT" -> "-32768 -1 0 300 32767",
    "INT" -> "-2147483648 -1 0 1 2147483647",
    "BIGINT" -> "-9223372036854775808 -1 0 4294967296 9223372036854775807",
    "FLOAT" -> "-1e30 -0.5 0.1 0.2 NaN",
    "DOUBLE" -> "-Infinity -0.1 0.1 0.2 NaN",
    "DECIMAL(4, 1)" -> "-999.9 -0.1 0.0 0.1 999.9",
    "DECIMAL(18, 2)" -> "-9999999999999999.99 -0.01 0.00 0.01 9999999999999999.99",
    "DECIMAL(20, 2)" -> "-999999999999999999.99 -0.01 0.00 0.01 999999999999999999.99",
    "DECIMAL(38, 10)" ->
      "-1234567890123456789012345678.0123456789 -1e-10 0 1e-10 9999999999999999999999999999",
    "DECIMAL(38, 0)" ->
      ("-99999999999999999999999999999999999999 -99999999999999999999999999999999999998 0 " +
        "99999999999999999999999999999999999998 99999999999999999999999999999999999999")
  ).map { case (columnType, values) => columnType -> quoted(values.split(' ').toSeq: _*) }

  private val times = Seq(
    "DATE" -> quoted("0001-01-01", "1582-10-04", "1970-01-01", "2024-02-29", "9999-12-31"),
    "TIMESTAMP" -> quoted(
      "0001-01-03 00:00:00",
      "1969-12-31 23:59:59.999999",
      "2024-03-10 01:59:59",
      "2024-03-10 03:00:00",
      "9999-12-30 23:59:59.999999"),
    "TIMESTAMP_NTZ" -> quoted(
      "0001-01-01 00:00:00",
      "1969-12-31 23:59:59.999999",
      "2024-03-10 02:30:00",
      "2024-03-10 03:30:00",
      "9999-12-31 23:59:59.999999"),
    "TIME(6)" -> quoted("00:00:00", "00:00:00.000001", "11:59:59", "12:00:00", "23:59:59.999999"),
    "INTERVAL YEAR TO MONTH" -> quoted("-1-2", "0-0", "0-1", "1-0", "100-11"),
    "INTERVAL DAY TO SECOND" -> quoted(
      "-1 00:00:00.000001",
      "0 00:00:00.000000",
      "0 00:00:00.000001",
      "1 00:00:00.000000",
      "100 23:59:59.999999")
  )

  private val texts = Seq(
    "STRING" -> quoted("", "A", "a", "aa", "ä"),
    "STRING COLLATE UTF8_LCASE" -> quoted("", "a", "B", "c", "Ä"),
    "STRING COLLATE UNICODE" -> quoted("", "a", "A", "ä", "b"),
    "STRING COLLATE UNICODE_CI" -> quoted("", "A", "ä", "B", "c"),
    "BINARY" -> Seq("X''", "X'00'", "X'7F'", "X'80'", "X'80FF'")
  )

  private val nested = Seq(
    "ARRAY<INT>" -> Seq(
      "array(cast(NULL AS INT), 5)",
      "array(1)",
      "array(1, NULL)",
      "array(1, 0)",
      "array(2)"),
    "ARRAY<STRING>" -> Seq("array('')", "array('a')", "array('a', '')", "array('b')", "array('ä')"),
    "STRUCT<a: INT, b: STRING>" ->
      Seq("NULL" -> "'z'", "1" -> "NULL", "1" -> "'a'", "1" -> "'b'", "2" -> "''").map {
        case (a, b) => s"named_struct('a', cast($a AS INT), 'b', cast($b AS STRING))"
      }
  )

  val All: Seq[(String, Seq[String])] =
    (numbers ++ times ++ texts ++ nested).filter { case (name, _) => TypesOfLine.knows(name) }

  private def quoted(values: String*): Seq[String] = values.map(v => s"'$v'")
}
