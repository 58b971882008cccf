// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

/**
 * What an index was built from.
 *
 * @param buildIsEmpty whether there were no rows; those that cannot match are rows, too
 * @param covered where the ranges of the rows that can match are; None if that is not needed
 */
private[index] final case class IndexOrigin(
    buildIsEmpty: Boolean,
    buildNanos: Long,
    covered: Option[CoveredRanges])
