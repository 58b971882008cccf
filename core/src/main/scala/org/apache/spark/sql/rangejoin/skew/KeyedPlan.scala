// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

/**
 * A layout, and what there is to say of it.
 *
 * @param skewedKeys how many keys have been split
 * @param buckets how many buckets they have
 * @param largest rows of the partition with most of them, of both sides, estimated
 * @param rows that have been looked at, of both sides
 */
case class KeyedPlan(
    layout: KeyedLayout,
    skewedKeys: Int,
    buckets: Int,
    largest: Long,
    rows: Double
)
