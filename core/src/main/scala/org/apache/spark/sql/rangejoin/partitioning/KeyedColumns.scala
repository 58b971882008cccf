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
import org.apache.spark.sql.rangejoin.shims.KeyHash
import org.apache.spark.sql.types.{DataType, IntegerType}

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
