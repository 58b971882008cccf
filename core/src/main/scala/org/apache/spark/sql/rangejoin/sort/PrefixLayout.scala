// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Maps the sort columns of a row to one unsigned long, the '''prefix''', in the order of the rows.
 *
 * Each column has a field of some bits, the first column the highest. A field has codes for some values of its column,
 * and one each for NULL, for all values below and for all above. After a value without a code of its own the following
 * fields stay empty, as they must not order rows that this column orders. So rows of different prefix are in the order
 * of their prefixes, whatever they hold; rows of equal prefix are equal as long as no row has been [[isLossless
 * lossy]].
 *
 * @param bases by column, the [[org.apache.spark.sql.rangejoin.kernel.OrderedLong]] of the first
 *   value with a field value of its own
 * @param bits by column, width of its field; all together at most 64
 * @param shifts by column, the low bits of values that do not fit into the field
 * @param columns the sort columns
 */
final class PrefixLayout private[sort] (
    bases: Array[Long],
    bits: Array[Int],
    shifts: Array[Int],
    columns: Array[PrefixLayout.Column]) {
  import PrefixLayout._

  private var exact = true
  private var firstExact = true

  /** Whether rows of equal prefix are equal, among those seen so far. */
  def isLossless: Boolean = exact

  /** Whether they are equal in the first column. */
  def decidesFirst: Boolean = firstExact

  /** How many columns have a field, from the first on. */
  def fields: Int = bits.length

  /** @param values the longs of the sort columns, NULL where the column is */
  def prefixOf(values: UnsafeRow): Long = {
    var prefix = 0L
    var left = 64
    var column = 0
    while (column < bits.length) {
      val width = bits(column)
      left -= width
      var code = NullCode
      var decided = true
      if (!values.isNullAt(column)) {
        val value = values.getLong(column)
        val base = bases(column)
        if (value < base) {
          code = BelowCode
          decided = false
        } else {
          val last = if (width == 64) -1L else (1L << width) - 1
          code = ((value - base) >>> shifts(column)) + FirstCode
          // Unsigned, and below FirstCode where the addition went past the end.
          if (code + Long.MinValue >= last + Long.MinValue || (code >= 0 && code < FirstCode)) {
            code = last
            decided = false
          } else {
            decided = shifts(column) == 0 && columns(column).decides(value)
          }
        }
      }
      prefix |= code << left
      if (!decided) {
        exact = false
        if (column == 0) firstExact = false
        return prefix
      }
      column += 1
    }
    // Columns without a field.
    if (column < columns.length) exact = false
    prefix
  }

  override def toString: String = bits.indices
    .map(i => s"${bits(i)} bits from ${bases(i)} >> ${shifts(i)}")
    .mkString("PrefixLayout(", ", ", ")")
}

object PrefixLayout {
  private val NullCode = 0L
  private val BelowCode = 1L
  private val FirstCode = 2L

  /** Field values that stand for no single value: NULL, below, above. */
  private val Reserved = 3L

  /**
   * What is known of a column.
   *
   * @param least the smallest long it can hold
   * @param greatest the greatest
   * @param equality which longs are known to be equal only for equal values
   */
  final case class Column(least: Long, greatest: Long, equality: Equality) {
    private[PrefixLayout] def decides(value: Long): Boolean =
      (equality eq OfAll) || ((equality eq OfOdd) && (value & 1L) != 0L) ||
        ((equality eq OfShort) && StringTail.isOfOne(value))
  }

  sealed trait Equality {

    /** Whether longs are so wide that they leave no room for columns after them, as strings without a dictionary. */
    def takesWholePrefix: Boolean = this == OfNone || this == OfShort
  }
  case object OfAll extends Equality
  case object OfOdd extends Equality

  /** Only the longs of [[StringTail short strings]]. */
  case object OfShort extends Equality
  case object OfNone extends Equality

  /**
   * A layout for rows, from a sample of them.
   *
   * The bits that the sample does not need are shared out, so that values beyond the sample have codes of their own,
   * too. Unused bits cost nothing: a radix sort passes over bytes that are the same in all rows.
   *
   * @param columns the sort columns
   * @param ends by column, the smallest long of the sample, and the greatest; below the smallest where the sample has
   *   NULL only. Not evaluated where the layout does not depend on the sample
   */
  def guess(columns: Array[Column], ends: => (Array[Long], Array[Long])): PrefixLayout =
    if (columns.head.equality.takesWholePrefix) ofFirst(columns)
    else {
      val (least, greatest) = ends
      ofAll(columns, least, greatest)
    }

  /** The first column with all of its values, whatever a sample shows. */
  private def ofFirst(columns: Array[Column]): PrefixLayout = {
    val first = columns.head
    val bits = bitsFor(first.greatest - first.least)
    new PrefixLayout(
      Array(first.least),
      Array(math.min(bits, 64)),
      Array(math.max(0, bits - 64)),
      columns)
  }

  private def ofAll(
      columns: Array[Column],
      least: Array[Long],
      greatest: Array[Long]): PrefixLayout = {
    val needed = columns.indices.map(i => widthOf(least(i), greatest(i)))
    // Columns after a field that does not decide its column are not used, nor columns that find no room.
    var used = 0
    var total = 0
    while (used < columns.length && total + MinBits <= 64 &&
      (used == 0 || columns(used - 1).equality != OfNone)) {
      total += needed(used)
      used += 1
    }
    val bases = new Array[Long](used)
    val bits = new Array[Int](used)
    val shifts = new Array[Int](used)
    var left = 64
    var spare = math.max(0, 64 - total)
    for (i <- 0 until used) {
      val most = bitsFor(columns(i).greatest - columns(i).least)
      val share = spare / (used - i)
      bits(i) = math.min(math.min(needed(i) + share, most), left)
      spare = math.max(0, spare - math.max(0, bits(i) - needed(i)))
      left -= bits(i)
      shifts(i) = math.max(0, needed(i) - bits(i))
      // With room to both sides, and none of the field's high bits in use by the sample.
      val slack = bits(i) - needed(i)
      val below = if (slack >= 3) 3L << (bits(i) - 3) else 0L
      val first = if (greatest(i) < least(i)) 0L else least(i)
      bases(i) =
        if (first - below > first || first - below < columns(i).least) columns(i).least
        else first - below
    }
    new PrefixLayout(bases, bits, shifts, columns)
  }

  /** Width of a field for all longs between two; below the smallest where there are none. */
  private[sort] def widthOf(least: Long, greatest: Long): Int =
    if (greatest < least) bitsFor(0L) else bitsFor(greatest - least)

  /** Fewer bits are not worth a field. */
  private val MinBits = 4

  /** Width of a field for values up to this far, unsigned, above the first; 65 where none is. */
  private def bitsFor(span: Long): Int = {
    val last = span + Reserved
    // Unsigned: the addition went past the end.
    if (last + Long.MinValue < span + Long.MinValue) 65
    else 64 - java.lang.Long.numberOfLeadingZeros(last)
  }
}
