// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.rangejoin.kernel._
import org.apache.spark.sql.rangejoin.window.WindowLimits

/** The contract of the scanner, driven by the generated kernel. */
class GeneratedRangeScannerSuite extends RangeScannerContract {
  override protected def kernelOf(spec: KernelSpec): RangeJoinKernel =
    GenerateRangeJoinKernel.generate(spec)
}

/** The contract of the scanner, driven by the interpreted kernel. */
class InterpretedRangeScannerSuite extends RangeScannerContract {
  override protected def kernelOf(spec: KernelSpec): RangeJoinKernel =
    new InterpretedRangeJoinKernel(spec)
}

/** The contract where the rows of a run are read by steps. */
class SteppingRangeScannerSuite extends InterpretedRangeScannerSuite {
  override protected def steps: Boolean = true
}

/** Likewise, with few rows in memory. */
class SteppingTwoRowsRangeScannerSuite extends TwoRowsRangeScannerSuite {
  override protected def steps: Boolean = true
}

/** Rows without a match, with the generated kernel. */
class GeneratedUnmatchedRowsSuite extends UnmatchedRowsContract {
  override protected def kernelOf(spec: KernelSpec): RangeJoinKernel =
    GenerateRangeJoinKernel.generate(spec)
}

/** Rows without a match, with the interpreted kernel. */
class InterpretedUnmatchedRowsSuite extends UnmatchedRowsContract {
  override protected def kernelOf(spec: KernelSpec): RangeJoinKernel =
    new InterpretedRangeJoinKernel(spec)
}

/** The contract with few rows of the window in memory and the others in blocks on disk. */
abstract class SpillingRangeScannerSuite(rows: Int) extends InterpretedRangeScannerSuite {
  override protected def limits: WindowLimits = WindowLimits(rows, Long.MaxValue)
}

class OneRowRangeScannerSuite extends SpillingRangeScannerSuite(1)
class TwoRowsRangeScannerSuite extends SpillingRangeScannerSuite(2)
class SevenRowsRangeScannerSuite extends SpillingRangeScannerSuite(7)

/** Rows without a match, of which few are in memory. */
abstract class SpillingUnmatchedRowsSuite(rows: Int) extends InterpretedUnmatchedRowsSuite {
  override protected def limits: WindowLimits = WindowLimits(rows, Long.MaxValue)
}

class OneRowUnmatchedRowsSuite extends SpillingUnmatchedRowsSuite(1)
class TwoRowsUnmatchedRowsSuite extends SpillingUnmatchedRowsSuite(2)
class SevenRowsUnmatchedRowsSuite extends SpillingUnmatchedRowsSuite(7)

/** Both contracts with memory off the heap, and more rows than there are in it. */
class OffHeapRangeScannerSuite extends SevenRowsRangeScannerSuite {
  override protected def offHeap: Boolean = true
  override protected def seeds: Int = 100
}

class OffHeapUnmatchedRowsSuite extends SevenRowsUnmatchedRowsSuite {
  override protected def offHeap: Boolean = true
  override protected def seeds: Int = 100
}
