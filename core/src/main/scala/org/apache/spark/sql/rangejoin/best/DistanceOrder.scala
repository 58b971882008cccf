// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.rangejoin.condition.Rounding

/**
 * How the column that matches are ranked by is compared with a point.
 *
 * @param nearest whether those next to the point come first, on either side
 * @param greatest beyond it their difference wraps around, or raises; None where it never does
 * @param slack how far apart two values of the column may be in the wrong order
 * @param rounding how their difference is rounded; None where it is not
 * @param misplacesNaN whether NaN, the greatest value of the column, is ranked at the other end by
 *   the distance, which is NaN whatever the sign
 */
case class DistanceOrder(
    nearest: Boolean,
    greatest: Option[Long],
    slack: Long,
    rounding: Option[Rounding],
    misplacesNaN: Boolean)
