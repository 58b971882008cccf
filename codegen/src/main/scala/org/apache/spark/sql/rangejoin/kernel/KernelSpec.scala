// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.{
  CodeGeneratorWithInterpretedFallback,
  Expression,
  UnsafeRow
}

/**
 * The expressions of a kernel, each bound to the row of its side. Keys of the two sides stand in
 * pairs of one type; a bound is of type LONG, usually a [[RangeBound]]. A test that is absent from
 * the join condition has no bounds: it holds for every pair, and both of its bounds are zero.
 *
 * @param lower least evict bound that matches a streamed row
 * @param upper greatest sort bound that matches a streamed row
 * @param sortBound the bound a buffered row is sorted by
 * @param evictBound the bound that lets a buffered row leave the window
 */
case class KernelSpec(
    streamedKeys: Seq[Expression],
    bufferedKeys: Seq[Expression],
    lower: Option[Expression],
    upper: Option[Expression],
    sortBound: Option[Expression],
    evictBound: Option[Expression]
) {
  require(streamedKeys.size == bufferedKeys.size, "keys of the two sides come in pairs")
  require(lower.isDefined == evictBound.isDefined, "the lower test has a bound on both sides")
  require(upper.isDefined == sortBound.isDefined, "the upper test has a bound on both sides")
}

/** Makes the kernel of a spec: generated, or interpreted where Spark is told to or has to. */
object RangeJoinKernelFactory
    extends CodeGeneratorWithInterpretedFallback[KernelSpec, RangeJoinKernel] {

  override protected def createCodeGeneratedObject(spec: KernelSpec): RangeJoinKernel =
    GenerateRangeJoinKernel.generate(spec)

  override protected def createInterpretedObject(spec: KernelSpec): RangeJoinKernel =
    new InterpretedRangeJoinKernel(spec)
}

/** The search of bounds that rise. */
object SortedBounds {

  /** The first of these with a value of at least `bound`, or `end`. */
  def firstFrom(bounds: Array[Long], from: Int, end: Int, bound: Long): Int = {
    var low = from
    var high = end
    while (low < high) {
      val middle = (low + high) >>> 1
      if (bounds(middle) < bound) low = middle + 1 else high = middle
    }
    low
  }

  /** The first of these with a value above `bound`, or `end`. */
  def firstBeyond(bounds: Array[Long], from: Int, end: Int, bound: Long): Int =
    if (bound == Long.MaxValue) end else firstFrom(bounds, from, end, bound + 1)
}

/**
 * Rows by their positions, which are in the order of a bound: those of a window without holes, or of a group of an
 * index. The candidates of a streamed row, or its matches, are neighbours in it.
 */
trait Run {

  /** Points `row` at the row at a position, valid until the next call. */
  def read(position: Int, row: UnsafeRow): Unit

  /** The bound of the row at a position. */
  def bound(position: Int): Long

  /** The first of these positions with a bound of at least `bound`, or `end`. */
  def firstFrom(from: Int, end: Int, bound: Long): Int

  /** The last of these positions with a candidate of the current streamed row; before `from` if there is none. */
  def lastCandidate(from: Int, end: Int): Int
}
