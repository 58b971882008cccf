// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

/** Conditions of two tables with a point `p` and an interval from `s` to `e`. */
trait IntervalShapes {

  protected val Within = "r.p BETWEEN l.s AND l.e"
  protected val Around = "l.p BETWEEN r.s AND r.e"
  protected val Overlap = "l.s <= r.e AND r.s <= l.e"
  protected val StrictOverlap = "l.s < r.e AND r.s < l.e"
  protected val HalfOpen = "l.p > r.s AND l.p <= r.e"
  protected val UpTo = "l.p <= r.p"
  protected val Above = "l.p > r.p"

  /** A point in an interval of either side, and two intervals. */
  protected val Intervals: Seq[String] = Seq(Within, Around, Overlap)
}
