// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Numbers, and strings that Spark compares as numbers. */
object NumericTypes {

  sealed abstract class Numeric(name: String, dataType: DataType)
      extends RangeType(name, dataType) {
    protected def distance(draw: Draw): String
    override def below(column: String, draw: Draw): String = s"$column - ${distance(draw)}"
    override def above(column: String, draw: Draw): String = s"$column + ${distance(draw)}"
    override def band(column: String, amount: String): Option[(String, String)] =
      Some((s"$column - $amount", s"$column + $amount"))
    override def differences: Seq[Subtraction] = Seq(
      Subtraction((x, y) => s"($x - $y)", limit => limit.toString),
      Subtraction((x, y) => s"($x - $y)", limit => s"$limit.5")
    )
    override def sums: Seq[Subtraction] =
      differences.map(_.copy(of = (x, y) => s"($x + $y)"))
    override def turning(column: String, amount: String): Seq[String] = Seq(
      s"10 - $column",
      s"$column % 7",
      s"-$column",
      s"$column * $amount",
      s"$column * ($amount - 10)",
      s"abs($column)",
      s"if($amount > 10, $column, -$column)"
    )
    override def raising(column: String, amount: String): Seq[String] = Seq(
      s"100 div $amount",
      s"$column / ($amount - 5)",
      s"$column % $amount",
      s"CAST($column * 4 AS TINYINT)",
      s"CAST($column AS DECIMAL(3, 1))",
      s"CAST($column * 50000000 AS INT)",
      s"fuzz_fussy(CAST($column AS INT))"
    )
  }

  sealed abstract class Integral(
      dataType: DataType,
      least: Long,
      greatest: Long,
      suffix: String
  ) extends Numeric(dataType.sql, dataType) {
    protected def of(value: Long): Any
    private val span = if (greatest > Byte.MaxValue) 60 else 40
    override def plain(draw: Draw): Any = of(draw.below(span).toLong - span / 3)
    override def extremes: Seq[Any] =
      (0L to 3L).flatMap(d => Seq(of(least + d), of(greatest - d)))
    override protected def distance(draw: Draw): String =
      draw.below(6).toString + draw.pick(Seq("", suffix, suffix))
    override def differences: Seq[Subtraction] = Seq(
      Subtraction((x, y) => s"($x - $y)", limit => s"$limit$suffix", wraps = true),
      Subtraction((x, y) => s"($x - $y)", limit => limit.toString, wraps = true)
    )
  }

  case object Bytes extends Integral(ByteType, Byte.MinValue, Byte.MaxValue, "Y") {
    override protected def of(value: Long): Any = value.toByte
  }
  case object Shorts extends Integral(ShortType, Short.MinValue, Short.MaxValue, "S") {
    override protected def of(value: Long): Any = value.toShort
  }
  case object Ints extends Integral(IntegerType, Int.MinValue, Int.MaxValue, "") {
    override protected def of(value: Long): Any = value.toInt
  }
  case object Longs extends Integral(LongType, Long.MinValue, Long.MaxValue, "L") {
    override protected def of(value: Long): Any = value
  }

  case object Floats extends Numeric("FLOAT", FloatType) {
    override def plain(draw: Draw): Any = (draw.below(40) - 15) * 0.5f
    override def extremes: Seq[Any] = Seq(
      Float.NaN,
      -0.0f,
      0.0f,
      Float.PositiveInfinity,
      Float.NegativeInfinity,
      Float.MaxValue,
      Float.MinValue,
      Float.MinPositiveValue,
      16777217.0f,
      // A NaN of other bits.
      java.lang.Float.intBitsToFloat(0xffc00001)
    )
    override protected def distance(draw: Draw): String =
      draw.pick(Seq("1", "0.1", "float('0.1')", "2.5D", "float('1.5')"))
  }
  case object Doubles extends Numeric("DOUBLE", DoubleType) {
    override def plain(draw: Draw): Any = (draw.below(40) - 15) * 0.5
    override def extremes: Seq[Any] = Seq(
      Double.NaN,
      -0.0,
      0.0,
      Double.PositiveInfinity,
      Double.NegativeInfinity,
      Double.MaxValue,
      Double.MinValue,
      Double.MinPositiveValue,
      9007199254740993.0,
      java.lang.Double.longBitsToDouble(0xfff8000000000001L)
    )
    override protected def distance(draw: Draw): String =
      draw.pick(Seq("1", "0.1D", "2.5D", "0.3", "1e16D"))
  }

  case class Decimals(precision: Int, scale: Int)
      extends Numeric(s"DECIMAL($precision,$scale)", DecimalType(precision, scale)) {
    private def of(unscaled: BigInt) =
      Decimal(BigDecimal(unscaled, scale, java.math.MathContext.UNLIMITED), precision, scale)
    private val unit = BigInt(10).pow(scale)
    private val greatest = BigInt(10).pow(precision) - 1
    override def plain(draw: Draw): Any = {
      val fraction = if (scale > 0 && draw.chance(30)) draw.below(100) else 0
      of((draw.below(60) - 20) * unit / 2 + fraction)
    }
    override def extremes: Seq[Any] =
      Seq(greatest, -greatest, greatest - 1, 1 - greatest, BigInt(0)).map(of)
    override protected def distance(draw: Draw): String =
      draw.pick(Seq("1", "0.5", "2.25", "3.0001"))
    // Of more digits, a difference is rounded to those that fit.
    override def differences: Seq[Subtraction] = if (precision <= 18) super.differences else Nil
  }

  /** Strings of digits, some of which are no number. */
  case object Numerals extends RangeType("STRING of digits", StringType) {
    override def plain(draw: Draw): Any = {
      val number = draw.below(60) - 20
      UTF8String.fromString(draw.pick(Seq(s"$number", s" $number", s"$number ")))
    }
    override def extremes: Seq[Any] =
      Seq("x", "", "99999999999999", "1.5", "NaN", "1e3").map(UTF8String.fromString)
    override def below(column: String, draw: Draw): String = s"$column - ${draw.below(6)}"
    override def above(column: String, draw: Draw): String = s"$column + ${draw.below(6)}"
    override def turning(column: String, amount: String): Seq[String] =
      Seq(s"10 - $column", s"reverse($column)", s"$column * $amount")
    override def raising(column: String, amount: String): Seq[String] =
      Seq(s"CAST($column AS TINYINT)", s"100 / $column", s"fuzz_fussy($amount)")
  }
}
