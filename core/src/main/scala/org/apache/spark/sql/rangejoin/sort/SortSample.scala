// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/**
 * The first rows that a sorter gets, and what it concludes from them: which columns get [[KeyCodes codes]], mostly
 * dictionaries, and the [[PrefixLayout layout]] of the prefix.
 *
 * A thousand rows tell how wide columns are. Where a column wants a dictionary and shows too many values for one, but
 * some of them more than once, sixteen thousand are sampled: enough to know almost all of some four thousand values.
 *
 * @param mayExtend whether more than a thousand rows may be sampled
 */
private[sort] final class SortSample(
    columns: SortColumns,
    mayExtend: Boolean,
    sample: mutable.ArrayBuffer[UnsafeRow] = mutable.ArrayBuffer.empty,
    private var bytes: Long = 0L
) {
  import SortSample._

  private val longs = columns.longs
  private var extended = false

  def rows: Iterable[UnsafeRow] = sample

  /** Copies a row. */
  def add(row: UnsafeRow): Unit = {
    sample += row.copy()
    bytes += row.getSizeInBytes
  }

  /** Whether these rows are enough; may inspect them. */
  def areEnough: Boolean =
    if (sample.size < Rows && bytes < Bytes) false
    else if (extended) sample.size >= ExtendedRows || bytes >= ExtendedBytes
    else {
      extended = mayExtend && !hasSmallGroups && isWorthMore
      !extended
    }

  /** These rows, as a sample for a sort by other columns. */
  def by(others: SortColumns): SortSample = new SortSample(others, mayExtend, sample, bytes)

  /**
   * Whether few rows seem to be equal in all columns but the last, where a prefix of the last one would need codes: those
   * that are, if any, come one after the other.
   */
  lazy val hasSmallGroups: Boolean = columns.order.size > 1 && columns.isLastLossy && {
    val groups = valuesOf(columns.order.size - 1)
    val changes = 1 + groups.zip(groups.drop(1)).count { case (one, next) => one != next }
    changes <= groups.distinct.size * MostChanges && groups.size <= changes.toLong * RowsOfSmallGroup
  }

  /** Whether many rows have one value of the first column: these would be copied once more for each sort behind another. */
  def hasFrequentValue: Boolean =
    valuesOf(1).groupBy(identity).values.exists(_.size * FrequentPart > sample.size)

  /** How many values the first column has. */
  def distinctOfFirst: Int = valuesOf(1).distinct.size

  /** The values of the first columns, by row. */
  private def valuesOf(number: Int): Seq[UnsafeRow] = {
    val project = UnsafeProjection.create(columns.expressions.take(number))
    rows.iterator.map(row => project(row).copy()).toVector
  }

  /** Whether there are many rows, and they are narrow. */
  def areManyAndNarrow: Boolean = sample.size >= Rows && bytes <= sample.size * NarrowBytes

  private def isWorthMore: Boolean = {
    val chosen = dictionaries
    val wanting = chosen.indices.filter(i => chosen(i) == null && wants(i, chosen))
    wanting.exists { i =>
      val values =
        if (columns.isOfStrings(i))
          sample.iterator.map(row => InternalRow.copyValue(columns.stringOf(i, row)))
        else longsOf(i).iterator
      KeyDictionary.mayBeKnown(values, sample.size)
    }
  }

  /** By column, the codes made for these rows; null for columns without. */
  lazy val codes: Array[KeyCodes] = {
    val chosen = dictionaries
    for (i <- chosen.indices if chosen(i) == null && columns.isOfStrings(i)) {
      chosen(i) = StringTail.of(columns.expressions(i), sample)
    }
    chosen
  }

  private def dictionaries: Array[KeyCodes] = {
    val chosen = new Array[KeyCodes](columns.columns.length)
    for (i <- chosen.indices if wants(i, chosen)) {
      chosen(i) =
        if (columns.isOfStrings(i)) KeyDictionary.ofStrings(columns.expressions(i), sample)
        else KeyDictionary.ofLongs(longsOf(i))
    }
    chosen
  }

  /**
   * Whether a column should get a dictionary: strings have no exact longs without one, while longs usually fit without.
   */
  private def wants(column: Int, chosen: Array[KeyCodes]): Boolean =
    columns.isOfStrings(column) || (columns.columns(column).equality == PrefixLayout.OfAll && {
      val (least, greatest) = ends(chosen)
      val known = PrefixLayout.widthOf(least(column), greatest(column))
      known >= WideBits && chosen.indices.map(i =>
        PrefixLayout.widthOf(least(i), greatest(i))).sum > 64
    })

  private def longsOf(column: Int): Iterable[java.lang.Long] = sample.view.map { row =>
    val values = longs(row)
    if (values.isNullAt(column)) null else java.lang.Long.valueOf(values.getLong(column))
  }

  /** The least and the greatest long of each column; least above greatest where there is none. */
  private def ends(chosen: Array[KeyCodes]): (Array[Long], Array[Long]) = {
    val least = Array.fill(chosen.length)(Long.MaxValue)
    val greatest = Array.fill(chosen.length)(Long.MinValue)
    for (row <- sample) {
      val values = longs(row)
      for (i <- chosen.indices if !values.isNullAt(i)) {
        val value = chosen(i) match {
          case tail: StringTail => tail.codeOf(columns.stringOf(i, row))
          case _                => values.getLong(i)
        }
        // The extremes stand for unknown bounds, far from all others.
        if (value != Long.MinValue && value != Long.MaxValue) {
          least(i) = math.min(least(i), value)
          greatest(i) = math.max(greatest(i), value)
        }
      }
    }
    chosen.zipWithIndex.foreach {
      case (dictionary: KeyDictionary, i) =>
        least(i) = dictionary.column.least
        greatest(i) = dictionary.column.greatest
      case _ =>
    }
    (least, greatest)
  }

  /** The sort columns, as their longs are. */
  def known: Array[PrefixLayout.Column] = columns.columns.zip(codes).map { case (column, code) =>
    if (code == null) column else code.column
  }

  def layout: PrefixLayout = PrefixLayout.guess(known, ends(codes))
}

private[sort] object SortSample {
  private val Rows = 1024
  private val Bytes = 1L << 20

  private val ExtendedRows = 16 * 1024
  private val ExtendedBytes = 2L << 20

  /** The mean length of rows up to which batches gain: two cache lines. */
  private val NarrowBytes = 128L

  /** How often the group may change from row to row for each group: more than that, and groups come again. */
  private val MostChanges = 1.05

  /** A value is frequent that more than one in so many rows has. */
  private val FrequentPart = 32

  /** Groups of up to about as many rows as a scan can take in any order are small. */
  private val RowsOfSmallGroup = 16

  /** Narrower columns win little by a dictionary. */
  private val WideBits = 24
}
