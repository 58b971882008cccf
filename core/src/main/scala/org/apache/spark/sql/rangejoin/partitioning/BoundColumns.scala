// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  If,
  IsNull,
  Literal,
  Or,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.types.{DataType, IntegerType}

/**
 * Where the bounds of a side are in a row of its columns.
 *
 * @param low where its long is, if it has one; its value follows unless the long is all there is
 * @param isLossless whether the long is all there is
 * @param dataType the type of the values
 * @param mayBeUnknown whether a bound at an extreme may be unknown
 * @param distance if rows match at any distance
 */
case class BoundColumns(
    low: Option[Int],
    high: Option[Int],
    isLossless: Boolean,
    dataType: DataType,
    mayBeUnknown: Boolean,
    distance: Option[AnyDistance] = None
) {
  val all: Seq[Int] = low.toSeq ++ high

  def hasNull(row: InternalRow): Boolean =
    low.isDefined && row.isNullAt(low.get) || high.isDefined && row.isNullAt(high.get)

  /** Whether it is known of a bound, by its long, where it is. */
  def isKnown(bound: Long): Boolean =
    !mayBeUnknown || (bound != Long.MinValue && bound != Long.MaxValue)

  /** The value of a bound whose long is a prefix, where it is known; else null. */
  def value(row: InternalRow, at: Int): Any =
    if (isLossless || row.isNullAt(at + 1)) null else row.get(at + 1, dataType)

  def position(row: InternalRow, at: Int): Position = Position(row.getLong(at), value(row, at))
}

/**
 * What tells where a row of one side belongs: its bounds and, last, the hash of its keys, NULL where a key is. Rows of
 * equal keys have equal hashes, by Spark's own function, which is all that is required of keys: what is true of their
 * equality (collations, zeros, NaN) is not repeated here. Keys that share a hash are split together. Where there are no
 * keys all rows are of one.
 *
 * @param columns of the bounds, as [[SideBounds]] has them, over the rows
 * @param bounds where they are among these
 * @param output what the rows consist of
 */
final class KeyedColumns(
    keys: Seq[Expression],
    columns: Seq[Expression],
    val bounds: BoundColumns,
    output: Seq[Attribute]
) extends Serializable {

  private val expressions: Seq[Expression] = {
    val hash = if (keys.isEmpty) None else Some(KeyHash.of(keys))
    val isNull = keys.filter(_.nullable).map(IsNull(_): Expression).reduceOption(Or(_, _))
    val key = hash.map(h => isNull.fold[Expression](h)(If(_, Literal(null, IntegerType), h)))
    bindReferences(columns ++ key, output)
  }

  /** Where the hash is, if there are keys. */
  val keyAt: Option[Int] = if (keys.isEmpty) None else Some(expressions.size - 1)

  private val hashAt: Int = keyAt.getOrElse(-1)

  def size: Int = expressions.size

  def types: Array[DataType] = expressions.map(_.dataType).toArray

  /** Makes these columns of a row, always the same object; for one task. */
  def projection(): UnsafeProjection = UnsafeProjection.create(expressions)

  /** Makes the keys of a row, always the same object; for one task. */
  def keyProjection(): UnsafeProjection = UnsafeProjection.create(keys, output)

  /** Makes copies of rows; for one task. */
  def copying(): InternalRow => UnsafeRow = {
    lazy val project = UnsafeProjection.create(output, output)

    {
      case row: UnsafeRow => row.copy()
      case row            => project(row).copy()
    }
  }

  /** Whether a row matches nothing. */
  def hasNull(row: InternalRow): Boolean =
    hashAt >= 0 && row.isNullAt(hashAt) || bounds.hasNull(row)

  /** The hash of the keys; the same for all rows where there are none. */
  def key(row: InternalRow): Int = if (hashAt < 0) 0 else row.getInt(hashAt)
}

/**
 * The cells of one row after the other: those of its low end and of its high end. Both interpreted and generated code
 * finds them here.
 *
 * @param isOwner whether a row without a high end is a point; else it has no end
 * @param partition of the map task
 */
final class RowCells(bounds: BoundColumns, isOwner: Boolean, partition: Int = 0) {
  private val (lowAt, highAt) = (bounds.low.getOrElse(-1), bounds.high.getOrElse(-1))

  private val distance = bounds.distance.orNull

  var first: Int = _
  var last: Int = _

  /**
   * Of a row that reaches from one cell to an end, or that matches at any distance: the cell it lies in; -1 where that
   * is not known.
   */
  var own: Int = _

  /** Finds the cells of a row of the columns of a side, none of whose bounds is NULL. */
  def find(cells: CellSearch, row: InternalRow): Unit = find(
    cells,
    if (lowAt < 0) 0L else row.getLong(lowAt),
    if (lowAt < 0) null else bounds.value(row, lowAt),
    if (highAt < 0) 0L else row.getLong(highAt),
    if (highAt < 0) null else bounds.value(row, highAt)
  )

  /** Finds the cells of the bounds that there are; see [[CellSearch.cell]]. */
  def find(cells: CellSearch, low: Long, lowValue: Any, high: Long, highValue: Any): Unit = {
    first = if (lowAt < 0) 0 else cells.cell(low, lowValue)
    last =
      if (highAt >= 0) cells.cellNear(first, high, highValue)
      else if (isOwner) first
      else cells.size - 1
    val bound = if (lowAt < 0) high else low
    own = if (!bounds.isKnown(bound)) -1 else if (lowAt < 0) last else first
    if (distance != null) findAtAnyDistance(cells, bound)
  }

  private def findAtAnyDistance(cells: CellSearch, bound: Long): Unit = {
    if (!distance.hasKnownNearest(cells, bound)) own = -1
    if (!isOwner || own < 0) {
      first = 0
      last = cells.size - 1
    }
  }

  /**
   * The id of the bucket of a row of the owner.
   *
   * @param lengths where the length of an interval counts; null where it need not
   */
  def ownerId(layout: BucketLayout, lengths: LengthCounter): Int = {
    if (lengths != null) lengths.add(length)
    if (distance != null && own < 0) layout.anyIdOfLength(length, partition)
    else layout.ownerId(first, last)
  }

  /** The number of cells from the low end to the high end; 0 where these are inverted. */
  def length: Int = math.max(0, last - first)
}
