// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode, Literal}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The types of one key column, and the values it has on either side; `sql` is its comparison. */
case class RandomKey(leftType: DataType, rightType: DataType, pool: Seq[(Any, Any)], sql: String)

object RandomKey {
  private val Common =
    Seq(NumericTypes.Ints, NumericTypes.Longs, RangeType.all.find(_.name == "STRING").get)

  /** Types of keys that Spark compares with one another. */
  private val Mixed: Seq[(RangeType, RangeType)] =
    RangeType.mixed.filterNot { case (a, b) => Seq(a, b).contains(NumericTypes.Numerals) }

  /** @param values how many values the column has */
  def apply(draw: Draw, index: Int, values: Int): RandomKey = {
    val (left, right) =
      if (draw.chance(12)) draw.pick(Mixed)
      else {
        val one = draw.pick(if (draw.chance(45)) Common else RangeType.all)
        (one, one)
      }
    val pool = Seq.fill(values) {
      val value = if (draw.chance(20)) draw.pick(left.extremes) else left.plain(draw)
      (value, if (left == right) value else cast(value, left.dataType, right.dataType))
    }
    val (a, b) = if (draw.chance(50)) ("l", "r") else ("r", "l")
    val equals = if (draw.chance(12)) "<=>" else "="
    RandomKey(left.dataType, right.dataType, pool, s"$a.k$index $equals $b.k$index")
  }

  /** NULL where the other type does not have the value. */
  private def cast(value: Any, from: DataType, to: DataType): Any =
    try Cast(Literal(value, from), to, Some("America/Los_Angeles"), EvalMode.LEGACY).eval()
    catch { case _: ArithmeticException => null }
}

/** How the rows of a case are drawn; the same for both tables. */
case class RandomContent(draw: Draw, shape: Shape) {
  val nullPercent: Int = draw.pick(Seq(0, 6, 6, 6, 30))

  /** One key has most of the rows. */
  val hot: Boolean = draw.chance(20)

  /** Percent of rows with values for which bounds overflow or raise. */
  val oddPercent: Int = draw.pick(Seq(0, 0, 0, 4, 4, 12))

  /** Whether such rows have no partner on the other side, so that stock Spark never looks. */
  val oddAlone: Boolean = draw.chance(50)

  /** Amounts for which no bound raises, and others. */
  val amounts: Seq[Int] = if (shape == Shape.Raising) 1 to 4 else 0 to 19
  val oddAmounts: Seq[Int] = if (shape == Shape.Raising) Seq(0, 5, 13, 25) else 0 to 19
}

/** Draws one table of a case. */
final class RandomTable(
    name: String,
    range: RangeType,
    keys: Seq[RandomKey],
    content: RandomContent) {
  import content.draw

  private val payload = draw.pick(RandomTable.Payloads)

  private def keyType(key: RandomKey) = if (name == "l") key.leftType else key.rightType

  /** Columns without NULL are sometimes declared so. */
  private val notNull = content.nullPercent == 0 && draw.chance(50)

  private val columns: Seq[(StructField, Boolean => Any)] = draw.shuffle(
    keys.zipWithIndex.map { case (key, i) =>
      field(s"k$i", keyType(key)) -> ((odd: Boolean) => keyValue(key, odd))
    } ++ Seq(
      field("y", range.dataType) -> rangeValue _,
      field("z", range.dataType) -> rangeValue _,
      field("v", IntegerType) -> ((odd: Boolean) =>
        draw.pick(if (odd) content.oddAmounts else content.amounts)),
      field("s", StringType) -> ((_: Boolean) => UTF8String.fromString(s"s${draw.below(12)}")),
      field("p", payload.dataType) -> ((_: Boolean) => payload.value(draw))
    ))

  private def field(name: String, dataType: DataType) =
    StructField(name, dataType, nullable = !notNull)

  private def keyValue(key: RandomKey, odd: Boolean): Any =
    if (odd && content.oddAlone && !notNull) null
    else {
      val (left, right) = if (content.hot && draw.chance(80)) key.pool.head else draw.pick(key.pool)
      if (name == "l") left else right
    }

  private def rangeValue(odd: Boolean): Any =
    if (odd && draw.chance(70)) draw.pick(range.extremes) else range.plain(draw)

  private val size: Int =
    draw.pick(Seq(0, 1, 4, 25, 25, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 150))

  private val rows: Seq[InternalRow] = Seq.tabulate(size) { i =>
    val odd = draw.chance(content.oddPercent)
    InternalRow.fromSeq(i +: columns.map { case (_, value) =>
      val drawn = value(odd)
      if (!notNull && draw.chance(content.nullPercent)) null else drawn
    })
  }

  // A key cast to the type of the other side may be NULL.
  private def declared(column: StructField, index: Int) =
    if (rows.exists(_.isNullAt(index))) column.copy(nullable = true) else column

  val table: CaseTable = {
    val fields = StructField("id", IntegerType, nullable = false) +: columns.map(_._1)
    val schema = StructType(fields.zipWithIndex.map { case (f, i) => declared(f, i) })
    CaseTable(name, schema, rows)
  }
}

object RandomTable {

  /** A column that is only carried along. */
  private case class Payload(dataType: DataType, value: Draw => Any)

  private def text(draw: Draw) = UTF8String.fromString("x" * draw.below(20))

  private val Payloads: Seq[Payload] = Seq(
    Payload(StringType, text),
    Payload(DoubleType, draw => draw.pick(NumericTypes.Doubles.extremes)),
    Payload(BinaryType, draw => draw.pick(TextTypes.Bytestrings.extremes)),
    Payload(DecimalType(38, 10), draw => Decimal(BigDecimal(draw.below(1000)) / 8, 38, 10)),
    Payload(
      ArrayType(StructType(Seq(StructField("a", IntegerType), StructField("b", StringType)))),
      draw => new GenericArrayData(Array.fill[Any](draw.below(3))(InternalRow(null, text(draw))))
    ),
    Payload(
      MapType(StringType, LongType),
      draw =>
        new ArrayBasedMapData(
          new GenericArrayData(Array[Any](UTF8String.fromString("key"))),
          new GenericArrayData(Array[Any](draw.below(9).toLong)))
    ),
    Payload(
      StructType(Seq(StructField("t", TimestampType))),
      draw => InternalRow(draw.below(99).toLong))
  )
}
