/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.exec

import org.apache.spark.sql.rangejoin.codegen._
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

/** The contract with one row of the window in memory, and one in a block on disk. */
class SpillingRangeScannerSuite extends InterpretedRangeScannerSuite {
  override protected def limits: WindowLimits = WindowLimits(1, Long.MaxValue)
}

/** Rows without a match, of which one is in memory. */
class SpillingUnmatchedRowsSuite extends InterpretedUnmatchedRowsSuite {
  override protected def limits: WindowLimits = WindowLimits(1, Long.MaxValue)
}
