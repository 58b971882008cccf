// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

/**
 * One of the two tests of a range, seen from the rows that are indexed.
 *
 * @param order the order of the values that bounds are prefixes of; null where they are the values
 * @param mayBeUnknown whether a bound may be unknown where it is at the extreme
 */
private[index] final case class IndexedTest(
    isMade: Boolean,
    order: ValueOrder,
    mayBeUnknown: Boolean)
