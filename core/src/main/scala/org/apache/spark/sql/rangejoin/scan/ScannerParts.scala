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

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.rangejoin.join.PairTests
import org.apache.spark.sql.rangejoin.kernel.RangeJoinKernel
import org.apache.spark.sql.rangejoin.reduce.BestOrder
import org.apache.spark.sql.rangejoin.window.RangeWindow

/**
 * What a scanner works with.
 *
 * @param bufferedFields number of columns of a buffered row
 * @param keys number of keys
 * @param keepsOrder whether streamed rows come out in the order they come in, also those of a key with few rows
 * @param best which matches of a streamed row are wanted; None for all of them
 */
final case class ScannerParts(
    kernel: RangeJoinKernel,
    window: RangeWindow,
    bufferedFields: Int,
    tests: PairTests,
    metrics: WindowMetrics,
    keys: Int,
    keepsOrder: Boolean,
    best: Option[BestOrder])
