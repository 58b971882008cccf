// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

/**
 * Rows of the owner of nearly the same length, in cells, which share their buckets.
 *
 * @param longest no row is longer; the other side looks back as far from its low end
 * @param width the number of cells of a bucket
 * @param firstBucket the first of its buckets; one follows for each further `width` cells
 */
case class LengthClass(longest: Int, width: Int, firstBucket: Int)
