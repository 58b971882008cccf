// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

/** How floating-point numbers are rounded: as DOUBLE, or as FLOAT if `single`. */
case class Rounding(single: Boolean) {

  /** How far two numbers are from each other. */
  def distance(a: Double, b: Double): Double =
    if (single) math.abs(a.toFloat - b.toFloat).toDouble else math.abs(a - b)

  /** How far numbers like this one are from the next ones. */
  def lastPlace(number: Double): Double =
    if (single) math.ulp(number.toFloat).toDouble else math.ulp(number)
}
