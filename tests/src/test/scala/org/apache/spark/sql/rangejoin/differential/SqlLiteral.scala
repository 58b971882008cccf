// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, Literal}
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._

/** Catalyst values as SQL that gives exactly them, with their type, and as text to compare. */
object SqlLiteral {

  def ofRow(row: InternalRow, schema: StructType): String =
    schema.fields.zipWithIndex.map { case (field, i) =>
      of(if (row.isNullAt(i)) null else row.get(i, field.dataType), field.dataType)
    }.mkString("(", ", ", ")")

  def of(value: Any, dataType: DataType): String = (value, dataType) match {
    case (null, _) => s"CAST(NULL AS ${dataType.sql})"
    // Spark would write -0.0 as a decimal, and infinity in a cast.
    case (v: Float, _)  => s"float('$v')"
    case (v: Double, _) => s"double('$v')"
    // As text, years after 9999 and the hour that daylight saving repeats would be lost.
    case (v: Int, DateType)              => s"date_from_unix_date($v)"
    case (v: Long, TimestampType)        => s"timestamp_micros($v)"
    case (v, _: DecimalType)             => s"CAST('$v' AS ${dataType.sql})"
    case (v, _: DayTimeIntervalType)     => s"CAST(${Literal(v, dataType).sql} AS ${dataType.sql})"
    case (v, _: StringType)              => s"CAST(${quoted(v.toString)} AS ${dataType.sql})"
    case (v: InternalRow, t: StructType) =>
      val fields = t.fields.zipWithIndex.map { case (f, i) =>
        s"'${f.name}', ${of(if (v.isNullAt(i)) null else v.get(i, f.dataType), f.dataType)}"
      }
      fields.mkString("named_struct(", ", ", ")")
    case (v: ArrayData, t: ArrayType) =>
      val elements = v.toObjectArray(t.elementType).map(of(_, t.elementType))
      s"CAST(array(${elements.mkString(", ")}) AS ${t.sql})"
    case (v: MapData, t: MapType) =>
      val keys = v.keyArray().toObjectArray(t.keyType).map(of(_, t.keyType))
      val values = v.valueArray().toObjectArray(t.valueType).map(of(_, t.valueType))
      keys.zip(values).map { case (k, x) => s"$k, $x" }.mkString("map(", ", ", ")")
    case (v, _) => Literal(v, dataType).sql
  }

  private def quoted(text: String): String = {
    val escaped = text.flatMap {
      case c @ ('\\' | '\'') => s"\\$c"
      case c if c < ' '      => f"\\u${c.toInt}%04X"
      case c                 => c.toString
    }
    s"'$escaped'"
  }

  /** A row as text, the same for equal rows; unlike SQL, it tells -0.0 from 0.0. */
  def show(values: Seq[Any], types: Seq[DataType]): String =
    values.zip(types).map { case (v, t) => show(v, t) }.mkString("|")

  private def show(value: Any, dataType: DataType): String = (value, dataType) match {
    case (null, _)                       => "NULL"
    case (v: Array[Byte], _)             => v.mkString("[", " ", "]")
    case (v: InternalRow, t: StructType) => s"{${show(v.toSeq(t), t.fields.map(_.dataType).toSeq)}}"
    case (v: ArrayData, t: ArrayType)    =>
      v.toObjectArray(t.elementType).map(show(_, t.elementType)).mkString("(", ", ", ")")
    case (v: MapData, t: MapType) =>
      show(v.keyArray(), ArrayType(t.keyType)) + show(v.valueArray(), ArrayType(t.valueType))
    case (v, _) => v.toString
  }
}

/** A row of nothing but NULL. */
final class NullRow(size: Int) extends GenericInternalRow(size)
