// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

/**
 * Which bounds are prefixes, so that a search has to ask the test itself of some rows.
 *
 * @param sort those that rows are sorted by
 * @param evict those of the second test
 */
private[index] final case class Asks(sort: Boolean, evict: Boolean)
