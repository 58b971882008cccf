// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.internal.config.Kryo
import org.apache.spark.serializer.{KryoSerializer, Serializer}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.physical.BroadcastMode
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.condition.UnknownBounds
import org.apache.spark.sql.rangejoin.kernel.AttemptedValue
import org.apache.spark.sql.types.{DataType, LongType}
import org.apache.spark.{SparkConf, SparkEnv}

/**
 * Rows are broadcast as a [[RangeIndex]]; what an index is made of, wherever it is made.
 *
 * All expressions are bound to the rows of the side that is indexed.
 *
 * @param keys as Spark's hash joins have them: one long where they fit; none where there are none
 * @param sortBound the bound of the upper test; None where there is no such test
 * @param evictBound likewise of the lower test
 * @param sortValue what `sortBound` is a prefix of; None where it is the value itself
 * @param evictValue likewise of `evictBound`
 * @param linearScanThreshold up to this number of rows of a key are not searched
 * @param keyTypes types of the columns that keys are packed from, to read the keys of the index
 * @param sortMayBeUnknown whether `sortBound` may be unknown where it is at the extreme; likewise the other
 * @param second the bounds of a second range, by which a search may leave out rows; None where there is none
 * @param columns what is indexed, in words for EXPLAIN; modes that differ in it alone are equal
 */
case class RangeIndexMode(
    keys: Seq[Expression],
    sortBound: Option[Expression],
    evictBound: Option[Expression],
    sortValue: Option[Expression],
    evictValue: Option[Expression],
    linearScanThreshold: Int,
    keyTypes: Seq[DataType] = Nil,
    sortMayBeUnknown: Boolean = true,
    evictMayBeUnknown: Boolean = true,
    second: Option[SecondBounds] = None
)(columns: String = "")
    extends BroadcastMode {
  require(
    sortBound.isDefined || evictBound.isDefined || linearScanThreshold == Int.MaxValue,
    "without a bound there is nothing to search")
  require(
    second.isEmpty ||
      (sortBound.isDefined && evictBound.isDefined && sortValue.isEmpty && evictValue.isEmpty),
    "of two ranges the first has two ends, whose bounds are their values"
  )

  override def transform(rows: Array[InternalRow]): RangeIndex =
    transform(rows.iterator, Some(rows.length.toLong))

  override def transform(rows: Iterator[InternalRow], sizeHint: Option[Long]): RangeIndex = {
    val expected = sizeHint.fold(0)(math.min(_, Int.MaxValue / 2).toInt)
    // All rows with a key, as in Spark's hashed relation: another join finds its bounds in them.
    val index = new IndexBuild(this, expected, keepsUnmatchable = true, IndexMemory.Unlimited)
    rows.foreach(row => if (!index.add(row)) throw tooManyRows)
    index.result().getOrElse(throw tooManyRows)
  }

  private def tooManyRows = new OutOfMemoryError("too many rows for a range index")

  private[index] def keysBuilder: KeyDirectory.Builder = keys match {
    case Nil                                  => KeyDirectory.NoKeysBuilder
    case Seq(key) if key.dataType == LongType => new LongKeys.Builder(keyTypes)
    case _                                    => new RowKeys.Builder(keys.size)
  }

  /** Without bounds, so that Spark broadcasts rows once for joins by the same keys and different ranges. */
  override lazy val canonicalized: BroadcastMode = IndexedRows(
    keys.map(_.canonicalized),
    keyTypes,
    (sortBound ++ evictBound ++ sortValue ++ evictValue).toSeq
      .flatMap(_.collect { case value: AttemptedValue => value }).distinct.sortBy(_.ordinal)
  )

  /**
   * Whether an index of this mode, which is canonically equal, is the one that another join asks for. Bounds have to
   * be the same as they are: the canonical form reorders the terms of a sum, and a sum of doubles, or one that may
   * overflow, can then have another value, while pairs found by the index are not tested again.
   */
  def serves(wanted: RangeIndexMode): Boolean = {
    val made = copy(keys = wanted.keys)("")
    made == wanted || made.copy(second = None)("") == wanted
  }

  override def toString: String = s"RangeIndex($columns)"
}

/**
 * What indexes with different bounds can be made of: rows by their keys.
 *
 * @param computed what tasks have computed of the rows, for bounds. As it is: a sum of doubles depends on the order of
 *   its terms
 */
private final case class IndexedRows(
    keys: Seq[Expression],
    keyTypes: Seq[DataType],
    computed: Seq[AttemptedValue]
) extends BroadcastMode {
  override def transform(rows: Array[InternalRow]): Any = noMode

  override def transform(rows: Iterator[InternalRow], sizeHint: Option[Long]): Any = noMode

  override def canonicalized: BroadcastMode = this

  private def noMode = throw new UnsupportedOperationException("a canonical form is not executed")
}

object RangeIndexMode {

  /**
   * Whether only classes that are registered with Kryo, as those of Spark are, can be broadcast.
   */
  def needsRegistration: Boolean =
    Option(SparkEnv.get).exists(env => needsRegistration(env.serializer, env.conf))

  private[rangejoin] def needsRegistration(serializer: Serializer, conf: SparkConf): Boolean =
    serializer.isInstanceOf[KryoSerializer] && conf.get(Kryo.KRYO_REGISTRATION_REQUIRED)
}

/**
 * How the rows of a group are searched.
 *
 * @param bounds of all rows
 * @param descending whether bounds are those of the lower test alone, each with its bits turned, so
 *   that they rise where the test asks for it
 * @param asksSort whether the bounds that rows are sorted by are prefixes, so that a search asks the test of some rows
 * @param asksEvict likewise those of the second test
 * @param linearScanThreshold groups of up to this number of rows are not searched
 * @param slabs of large groups, for a search by two ranges; null where there is one range
 */
private[index] final case class GroupSearch(
    bounds: IndexBounds,
    descending: Boolean,
    asksSort: Boolean,
    asksEvict: Boolean,
    linearScanThreshold: Int,
    slabs: Slabs) {

  /** Whether the rows of a search are in the order that they are wanted in, or can be had in it. */
  def isInOrderOf(best: BestOrder): Boolean =
    (!asksEvict || bounds.points) && {
      if (best.bySortBound) best.nearest || isFromEnd(best) || !bounds.scattered
      else descending || bounds.points
    }

  /** Whether the best rows are at the end of a search. */
  def isFromEnd(best: BestOrder): Boolean = best.descending != descending

  def estimatedSize: Long =
    bounds.estimatedSize + (if (slabs == null) 0L else slabs.estimatedSize)
}

/**
 * The bounds of a second range: a search leaves out rows that do not meet it. A row with a bound that is NULL, or may
 * be unknown, is not left out.
 *
 * @param sort the bound of the upper test
 * @param evict the bound of the lower test
 * @param unknown which bounds may be unknown
 * @param threshold groups of fewer rows are searched by the first range alone
 */
final case class SecondBounds(
    sort: Expression,
    evict: Expression,
    unknown: UnknownBounds,
    threshold: Int)
