// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import java.util.{Arrays, HashMap => JHashMap, HashSet => JHashSet}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.rangejoin.shims.JavaCollections.Converters._
import org.apache.spark.sql.rangejoin.shims.{BinaryStrings, NullIntolerantExpression}
import org.apache.spark.sql.types.{DataType, LongType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Longs in the order of a column, made for the values that the first rows show. */
private[sort] sealed trait KeyCodes {

  /** What is known of the longs. */
  def column: PrefixLayout.Column

}

/** Codes of strings. */
private[sort] sealed trait StringCodes extends KeyCodes {
  def codeOf(string: UTF8String): Long
}

/**
 * Codes of a column whose first rows show most of its values: an odd long for each known value, and an even one for all
 * values in between. The fewer the values, the narrower the codes, so that columns after this one find room in the
 * [[PrefixLayout prefix]].
 */
private[sort] sealed trait KeyDictionary extends KeyCodes {

  /** Number of values that are known. */
  def size: Int

  final override def column: PrefixLayout.Column =
    PrefixLayout.Column(0L, 2L * size, PrefixLayout.OfOdd)
}

/**
 * A dictionary of strings.
 *
 * @param known the strings, in ascending order and without duplicates
 */
private[sort] final class StringDictionary(known: Array[UTF8String])
    extends KeyDictionary with StringCodes {
  private val codes = new JHashMap[UTF8String, java.lang.Long](known.length * 2)
  known.indices.foreach(i => codes.put(known(i), 2L * i + 1))

  override def size: Int = known.length

  override def codeOf(string: UTF8String): Long = {
    val code = codes.get(string)
    if (code != null) code else 2L * positionOf(string)
  }

  /** How many of the known strings are less. */
  private def positionOf(string: UTF8String): Int = {
    var low = 0
    var high = known.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (BinaryStrings.compare(known(middle), string) < 0) low = middle + 1 else high = middle
    }
    low
  }
}

/**
 * A dictionary of values that longs stand for.
 *
 * @param known the longs, in ascending order and without duplicates
 */
private[sort] final class LongDictionary(known: Array[Long]) extends KeyDictionary {
  // Open addressing: the index of a long in `known`, or -1; a quarter full at most.
  private val mask = Integer.highestOneBit(math.max(1, known.length) * 4) * 2 - 1
  private val indexes = Array.fill(mask + 1)(-1)
  known.indices.foreach { i =>
    var slot = slotOf(known(i))
    while (indexes(slot) >= 0) slot = (slot + 1) & mask
    indexes(slot) = i
  }

  override def size: Int = known.length

  def codeOf(value: Long): Long = {
    var slot = slotOf(value)
    var index = indexes(slot)
    while (index >= 0 && known(index) != value) {
      slot = (slot + 1) & mask
      index = indexes(slot)
    }
    if (index >= 0) 2L * index + 1 else 2L * (-1 - Arrays.binarySearch(known, value))
  }

  private def slotOf(value: Long): Int = {
    val mixed = value * 0x9e3779b97f4a7c15L
    (mixed >>> 40).toInt & mask
  }
}

/**
 * Codes of strings that are too many for a dictionary: the seven bytes behind the common beginning of the first rows,
 * and the number of bytes there, which tells short strings apart. Strings that begin otherwise come before or behind
 * these, by their own first seven bytes.
 *
 * {{{
 *   which of the three (2 bits) │ seven bytes │ their number (4 bits), up to eight
 * }}}
 *
 * @param common what the strings of the first rows begin with
 */
private[sort] final class StringTail(common: UTF8String) extends StringCodes {
  import StringTail._

  private val skipped = common.numBytes

  override def column: PrefixLayout.Column =
    PrefixLayout.Column(0L, (Behind + 1 << WhichShift) - 1, PrefixLayout.OfShort)

  override def codeOf(string: UTF8String): Long =
    if (string.startsWith(common)) code(Within, string, skipped)
    else if (BinaryStrings.compare(string, common) < 0) code(Before, string, 0)
    else code(Behind, string, 0)

  private def code(which: Long, string: UTF8String, skipped: Int): Long = {
    val bytes = string.numBytes - skipped
    val sevenBytes = firstBytes(string, skipped, bytes) >>> 8
    which << WhichShift | sevenBytes << NumberBits | math.min(bytes, Bytes + 1)
  }

  /** The bytes behind `skipped`, as `UTF8String.getPrefix`; nothing behind the string is read. */
  private def firstBytes(string: UTF8String, skipped: Int, bytes: Int): Long =
    if (bytes >= 8) eightBytes(string, skipped)
    else if (bytes == 0) 0L
    else if (string.numBytes >= 8) eightBytes(string, string.numBytes - 8) << (8 * (8 - bytes))
    else string.getPrefix << (8 * skipped)

  private def eightBytes(string: UTF8String, from: Int): Long =
    UTF8String.fromAddress(string.getBaseObject, string.getBaseOffset + from, 8).getPrefix
}

private[sort] object StringTail {

  /** The bytes of a string in a long, beside their number. */
  private final val Bytes = 7
  private final val NumberBits = 4
  private final val WhichShift = 8 * Bytes + NumberBits

  private final val Before = 0L
  private final val Within = 1L
  private final val Behind = 2L

  /** Whether only one string has this long. */
  def isOfOne(code: Long): Boolean = (code & ((1L << NumberBits) - 1)) <= Bytes

  private def byteAt(string: UTF8String, i: Int): Byte =
    Platform.getByte(string.getBaseObject, string.getBaseOffset + i)

  /** The codes of the strings in a sample; null if their first bytes differ. */
  def of(expression: Expression, sample: Iterable[InternalRow]): StringTail = {
    var first: UTF8String = null
    var common = 0
    for (row <- sample) {
      val string = expression.eval(row).asInstanceOf[UTF8String]
      if (first == null && string != null) {
        first = string.copy()
        common = first.numBytes
      } else if (string != null) {
        common = math.min(common, string.numBytes)
        var i = 0
        while (i < common && byteAt(string, i) == byteAt(first, i)) i += 1
        common = i
      }
    }
    if (common == 0) null
    else new StringTail(UTF8String.fromBytes(first.getBytes.take(common)))
  }
}

private[sort] object KeyDictionary {
  private val ByBytes: Ordering[UTF8String] = (a, b) => BinaryStrings.compare(a, b)

  /** The sample may have this many values, however few its rows are. */
  private val FewValues = 256

  /** Beyond that, the sample has to have so many rows per value, or most later rows would have unknown values. */
  private val RowsOfValue = 4

  /** A dictionary of the strings in a sample; null where they are too many, or later rows are to have others. */
  def ofStrings(expression: Expression, sample: Iterable[InternalRow]): KeyDictionary = {
    val strings = distinct(sample, mostOf(sample.size))(row =>
      expression.eval(row).asInstanceOf[UTF8String])(_.copy())
    if (strings == null) null else new StringDictionary(strings.asScala.toArray.sorted(ByBytes))
  }

  /** A dictionary of the longs in a sample, null for NULL; null where they are too many, or later rows are to have others. */
  def ofLongs(sample: Iterable[java.lang.Long]): KeyDictionary = {
    val longs = distinct(sample, mostOf(sample.size))(identity)(identity)
    if (longs == null) null else new LongDictionary(longs.asScala.map(_.longValue).toArray.sorted)
  }

  /** Whether values repeat often enough that a larger sample may show most of them. */
  def mayBeKnown(sample: Iterator[Any], rows: Int): Boolean = {
    val seen = new JHashSet[Any]
    sample.foreach(seen.add)
    seen.size < rows - rows / 10
  }

  private def mostOf(rows: Int): Int = math.max(FewValues, rows / RowsOfValue)

  /**
   * The values that are not null; or null where they are more than `most`, or do not come again, since the rows of a value
   * are next to one another.
   */
  private def distinct[R, V <: AnyRef](sample: Iterable[R], most: Int)(valueOf: R => V)(
      copy: V => V): JHashSet[V] = {
    val values = new JHashSet[V]
    val rows = sample.iterator
    // Of the last quarter of the rows: those that have a value of the first half.
    val half = sample.size / 2
    val last = sample.size - sample.size / 4
    var ofFirstHalf: JHashSet[V] = null
    var recurring = 0
    var index = 0
    while (rows.hasNext && values.size <= most) {
      val value = valueOf(rows.next())
      if (index == half) ofFirstHalf = new JHashSet[V](values)
      if (index >= last && (value == null || ofFirstHalf.contains(value))) recurring += 1
      if (value != null && !values.contains(value)) values.add(copy(value))
      index += 1
    }
    // A few wide rows show nothing.
    if (values.size > most || recurring * 2 < math.max(1, sample.size - last)) null else values
  }
}

/** The long that is [[KeyCodes made]] for a value, which is a string or a long; NULL where the value is NULL. */
private[sort] case class KeyCode(child: Expression, codes: KeyCodes) extends UnaryExpression
    with NullIntolerantExpression {
  override def dataType: DataType = LongType

  override protected def nullSafeEval(input: Any): Any = codes match {
    case strings: StringCodes  => strings.codeOf(input.asInstanceOf[UTF8String])
    case longs: LongDictionary => longs.codeOf(input.asInstanceOf[Long])
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val ref = ctx.addReferenceObj("codes", codes)
    defineCodeGen(ctx, ev, value => s"$ref.codeOf($value)")
  }

  override protected def withNewChildInternal(newChild: Expression): KeyCode =
    copy(child = newChild)
}
