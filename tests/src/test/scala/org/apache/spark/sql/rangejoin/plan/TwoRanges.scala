// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.util.Random

import org.apache.spark.sql.rangejoin.RangeJoinTest

/** Random tables with two columns of each kind, and conditions of two ranges over them. */
trait TwoRanges extends RangeJoinTest {

  protected val Types =
    Seq("INT", "BIGINT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(38,4)", "DATE", "TIMESTAMP", "STRING")

  private def value(dataType: String, number: String): String = dataType match {
    case "DATE"      => s"date_add(DATE'2024-01-01', int($number))"
    case "TIMESTAMP" => s"timestamp_seconds(1700000000 + ($number) * 86400)"
    case "STRING"    => s"concat('same prefix ', lpad($number, 4, '0'))"
    case _           => s"cast($number AS $dataType)"
  }

  /** Two ranges over columns `a`, `s`, `e` of a type, those of the other have a 2 behind. */
  protected def randomRange(random: Random, dataType: String, suffix: String): String = {
    def one[T](choices: T*): T = choices(random.nextInt(choices.size))
    val (x, y) = one(("l", "r"), ("r", "l"))
    def column(side: String, name: String) = s"$side.$name$suffix"
    val step = dataType match {
      case "DATE" | "TIMESTAMP" => "INTERVAL '2' DAY"
      case _                    => "2"
    }
    val band =
      s"${column(x, "a")} BETWEEN ${column(y, "a")} - $step AND ${column(y, "a")} + $step"
    val interval = s"${column(x, "a")} BETWEEN ${column(y, "s")} AND ${column(y, "e")}"
    val overlap =
      s"${column(x, "s")} < ${column(y, "e")} AND ${column(y, "s")} <= ${column(x, "e")}"
    if (dataType == "STRING") one(interval, overlap) else one(band, band, interval, overlap)
  }

  protected def randomTable(
      random: Random,
      name: String,
      types: Seq[String],
      rows: Int): Unit = {
    val seed = 1 + random.nextInt(1000)
    val columns = types.zip(Seq("", "2")).flatMap { case (dataType, suffix) =>
      val span = 10 + random.nextInt(60)
      val n = s"abs(hash(id, $seed, '$suffix')) % $span"
      Seq("a" -> n, "s" -> n, "e" -> s"($n + id % 7 - 1)").map { case (column, number) =>
        s"IF(hash(id, '$column$suffix') % 9 = 0, NULL, ${value(dataType, number)}) AS $column$suffix"
      }
    }
    spark.sql(
      s"""SELECT int(id) AS id, IF(id % 11 = 0, NULL, id % 2) AS k, ${columns.mkString(", ")}
      FROM range(1, $rows, 1, 2)""").createOrReplaceTempView(name)
  }
}
