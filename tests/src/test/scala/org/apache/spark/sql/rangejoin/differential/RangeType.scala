/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.differential

import java.sql.{Date, Timestamp}
import java.time.{LocalDate, LocalDateTime, ZoneId}

import scala.util.Random

import org.apache.spark.sql.types._

/**
 * A type of range columns: its values, plain and extreme, and how a user writes ranges over it.
 * Plain values lie close together, so that ties and matches are many.
 */
sealed abstract class RangeType(val dataType: DataType) {
  def plain(random: Random): Any
  def extremes: Seq[Any]

  /** A distance for [[shift]] and [[difference]] to use, as SQL. */
  def distance(random: Random): String

  /** `column + sign distance`, as SQL. */
  def shift(column: String, sign: String, distance: String): String = s"$column $sign $distance"

  /** The ways to write `x - y` that this type has, with the distance in their unit. */
  def differences(x: String, y: String, distance: String): Seq[(String, String)] =
    Seq((s"($x - $y)", distance))
}

object RangeType {
  private val Zone = ZoneId.of("America/Los_Angeles")

  sealed abstract class Integral(dataType: DataType, span: Int) extends RangeType(dataType) {
    protected def of(value: Long): Any
    protected def least: Long
    protected def greatest: Long
    override def plain(random: Random): Any = of(random.nextInt(span).toLong - span / 3)
    override def extremes: Seq[Any] =
      (0L to 3L).flatMap(d => Seq(of(least + d), of(greatest - d)))
    override def distance(random: Random): String = random.nextInt(6).toString
  }

  case object Bytes extends Integral(ByteType, 40) {
    override protected def of(value: Long): Any = value.toByte
    override protected def least: Long = Byte.MinValue
    override protected def greatest: Long = Byte.MaxValue
    override def distance(random: Random): String = s"${random.nextInt(6)}Y"
  }
  case object Shorts extends Integral(ShortType, 60) {
    override protected def of(value: Long): Any = value.toShort
    override protected def least: Long = Short.MinValue
    override protected def greatest: Long = Short.MaxValue
  }
  case object Ints extends Integral(IntegerType, 60) {
    override protected def of(value: Long): Any = value.toInt
    override protected def least: Long = Int.MinValue
    override protected def greatest: Long = Int.MaxValue
  }
  case object Longs extends Integral(LongType, 60) {
    override protected def of(value: Long): Any = value
    override protected def least: Long = Long.MinValue
    override protected def greatest: Long = Long.MaxValue
    override def distance(random: Random): String = s"${random.nextInt(6)}L"
  }

  case object Dates extends RangeType(DateType) {
    override def plain(random: Random): Any =
      Date.valueOf(LocalDate.of(2024, 2, 20).plusDays(random.nextInt(40).toLong))
    override def extremes: Seq[Any] =
      Seq("0001-01-01", "9999-12-31", "1582-10-15").map(Date.valueOf)
    override def distance(random: Random): String = random.nextInt(6).toString
    override def shift(column: String, sign: String, distance: String): String =
      if (sign == "+") s"date_add($column, $distance)" else s"$column - INTERVAL '$distance' DAY"
    override def differences(x: String, y: String, distance: String): Seq[(String, String)] =
      Seq((s"datediff($x, $y)", distance), (s"($x - $y)", s"INTERVAL '$distance' DAY"))
  }

  /** Hours around the nights at which daylight saving begins and ends. */
  private def localTime(random: Random): LocalDateTime = {
    val night = if (random.nextBoolean()) LocalDateTime.of(2024, 3, 9, 20, 0)
    else LocalDateTime.of(2024, 11, 2, 20, 0)
    night.plusMinutes(30L * random.nextInt(40))
  }

  private def timeDistance(random: Random): String = random.nextInt(5) match {
    case 0 => "INTERVAL '1' DAY"
    case 1 => "INTERVAL '1 02' DAY TO HOUR"
    case n => s"INTERVAL '$n' HOUR"
  }

  case object Timestamps extends RangeType(TimestampType) {
    override def plain(random: Random): Any =
      Timestamp.from(localTime(random).atZone(Zone).toInstant)
    override def extremes: Seq[Any] =
      Seq("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999").map(Timestamp.valueOf)
    override def distance(random: Random): String = timeDistance(random)
  }
  case object LocalTimes extends RangeType(TimestampNTZType) {
    override def plain(random: Random): Any = localTime(random)
    override def extremes: Seq[Any] = Seq(
      LocalDateTime.of(1, 1, 1, 0, 0),
      LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999999000)
    )
    override def distance(random: Random): String = timeDistance(random)
  }

  val all: Seq[RangeType] = Seq(Bytes, Shorts, Ints, Longs, Dates, Timestamps, LocalTimes)

  /** Types that Spark compares with one another, in pairs. */
  val mixed: Seq[(RangeType, RangeType)] = Seq(
    (Bytes, Longs),
    (Shorts, Ints),
    (Ints, Longs),
    (Longs, Shorts),
    (Dates, Timestamps),
    (Timestamps, LocalTimes),
    (LocalTimes, Dates)
  )
}
