// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Types without numbers in them: strings, bytes, truth values; and types made of others. */
object TextTypes {

  /** Strings that differ in case, accents, and after a long common beginning. */
  private val Words = Seq(
    "",
    "a",
    "A",
    "ab",
    "Ab",
    "aB",
    "abc",
    "b",
    "B",
    "ba",
    "c",
    "C",
    "cat",
    "Cat",
    "d",
    "e",
    "é",
    "É",
    "e\u0301",
    "f",
    "z",
    "Z",
    "ß",
    "ss",
    "a b",
    "a ",
    "common beginning 1",
    "common beginning 2",
    "Common Beginning 2",
    "common beginning",
    "commoN"
  )

  case class Strings(stringType: StringType) extends RangeType(stringType.sql, stringType) {
    override def plain(draw: Draw): Any = UTF8String.fromString(draw.pick(Words))
    override def extremes: Seq[Any] =
      Seq("", "\u0000", "a\u0000", "\uffff", "😀", "zzzzzzzzzzzzzzzzzz", "İ", "i")
        .map(UTF8String.fromString)
    override def below(column: String, draw: Draw): String =
      draw.pick(Seq(s"substring($column, 1, 1)", s"substring($column, 1, 9)", s"rtrim($column)"))
    override def above(column: String, draw: Draw): String =
      draw.pick(Seq(
        s"concat($column, 'm')",
        s"concat($column, '~~~~~~~~~')",
        s"repeat($column, 2)"))
    override def turning(column: String, amount: String): Seq[String] = Seq(
      s"reverse($column)",
      s"substring($column, 2)",
      s"upper($column)",
      s"substring($column, $amount)",
      s"concat(char(97 + $amount), $column)"
    )
    override def raising(column: String, amount: String): Seq[String] = Seq(
      s"elt($amount, $column, $column, $column, $column, $column)",
      s"substring($column, 1, CAST(10 div $amount AS INT))",
      s"repeat($column, fuzz_fussy($amount) % 3)"
    )
  }

  case object Bytestrings extends RangeType("BINARY", BinaryType) {
    override def plain(draw: Draw): Any = {
      val bytes = Seq[Byte](0, 1, 64, 127, -128, -1)
      Array.fill(draw.below(3))(draw.pick(bytes))
    }
    override def extremes: Seq[Any] = Seq(
      Array.empty[Byte],
      Array.fill[Byte](12)(-1),
      Array.fill[Byte](8)(-1),
      Array.fill[Byte](8)(0),
      Array.fill[Byte](9)(0)
    )
    override def below(column: String, draw: Draw): String = s"substring($column, 1, 1)"
    override def above(column: String, draw: Draw): String =
      s"concat($column, X'${draw.pick(Seq("40", "80", "FFFF", "0000000000000000"))}')"
    override def turning(column: String, amount: String): Seq[String] =
      Seq(s"substring($column, 2)", s"concat(X'00', $column)", s"substring($column, $amount)")
    override def raising(column: String, amount: String): Seq[String] = Seq(
      s"elt($amount, $column, $column, $column, $column, $column)",
      s"substring($column, 1, CAST(10 div $amount AS INT))",
      s"substring($column, fuzz_fussy($amount))"
    )
  }

  case object Booleans extends RangeType("BOOLEAN", BooleanType) {
    override def plain(draw: Draw): Any = draw.chance(50)
    override def extremes: Seq[Any] = Seq(true, false)
    override def below(column: String, draw: Draw): String = column
    override def above(column: String, draw: Draw): String = column
    override def turning(column: String, amount: String): Seq[String] =
      Seq(s"(NOT $column)", s"($column AND $amount > 10)", s"($amount % 2 = 0)")
    override def raising(column: String, amount: String): Seq[String] = Seq(
      s"(10 div $amount > 1)",
      s"CAST(elt($amount, 'true', 'false', 'maybe') AS BOOLEAN)",
      s"(fuzz_fussy($amount) > 5)"
    )
  }

  case object Arrays extends RangeType("ARRAY<DOUBLE>", ArrayType(DoubleType)) {
    override def plain(draw: Draw): Any =
      new GenericArrayData(Array.fill[Any](draw.below(4))(draw.below(4).toDouble))
    override def extremes: Seq[Any] = Seq[Array[Any]](
      Array(),
      Array(null),
      Array(null, 1.0),
      Array(Double.NaN),
      Array(-0.0),
      Array(0.0, 1.0),
      Array(Double.PositiveInfinity)
    ).map(new GenericArrayData(_))
    override def below(column: String, draw: Draw): String = s"slice($column, 1, 1)"
    override def above(column: String, draw: Draw): String = s"concat($column, array(1.5D))"
    override def turning(column: String, amount: String): Seq[String] =
      Seq(s"reverse($column)", s"concat(array(double($amount % 3)), $column)")
    override def raising(column: String, amount: String): Seq[String] =
      Seq(
        s"array(10 / $amount)",
        s"array($column[$amount % 4])",
        s"array(double(fuzz_fussy($amount)))")
  }

  case object Structs
      extends RangeType(
        "STRUCT<a: INT, b: STRING>",
        StructType(Seq(StructField("a", IntegerType), StructField("b", StringType)))
      ) {
    private def of(a: Any, b: String) = InternalRow(a, UTF8String.fromString(b))
    override def plain(draw: Draw): Any = of(draw.below(8), draw.pick(Words.take(8)))
    override def extremes: Seq[Any] =
      Seq(of(null, "a"), of(1, null), of(null, null), of(Int.MaxValue, ""), of(Int.MinValue, "z"))
    private def shifted(column: String, by: String) =
      s"named_struct('a', $column.a $by, 'b', $column.b)"
    override def below(column: String, draw: Draw): String = shifted(column, "- 1")
    override def above(column: String, draw: Draw): String = shifted(column, "+ 1")
    override def turning(column: String, amount: String): Seq[String] =
      Seq(shifted(column, "* -1"), shifted(column, s"* $amount"))
    override def raising(column: String, amount: String): Seq[String] =
      Seq(shifted(column, s"div $amount"), shifted(column, s"+ fuzz_fussy($amount)"))
  }
}
