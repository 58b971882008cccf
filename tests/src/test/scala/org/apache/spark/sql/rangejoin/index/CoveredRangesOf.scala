// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

/** The ranges that rows of an index cover, by their bounds, for suites of other packages. */
object CoveredRangesOf {
  def apply(rows: Seq[(Long, Long)]): CoveredRanges =
    CoveredRanges.ofTwo(rows.size, rows(_)._1, rows(_)._2)
}
