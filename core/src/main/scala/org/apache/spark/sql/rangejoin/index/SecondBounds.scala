// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.rangejoin.condition.UnknownBounds

/**
 * The bounds of a second range: a search leaves out rows that do not meet it. A row with a bound that is NULL, or may
 * be unknown, is not left out.
 *
 * @param sort the bound of the upper test
 * @param evict the bound of the lower test
 * @param unknown which bounds may be unknown
 * @param threshold groups of fewer rows are searched by the first range alone
 */
final case class SecondBounds(
    sort: Expression,
    evict: Expression,
    unknown: UnknownBounds,
    threshold: Int)
