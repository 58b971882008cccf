// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.join.PairTests
import org.apache.spark.sql.rangejoin.kernel.RangeJoinKernel
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
