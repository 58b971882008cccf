// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.partitioning.PartitionedRange

/**
 * How skewed keys of a join are split: what both sides of it have in common.
 *
 * @param millis how long it took to find out
 * @param partitions how many partitions of the join's shuffle are reshuffled
 * @param best which copies are enough, where each row of the owner wants its best matches alone
 */
case class SkewSplit(
    range: PartitionedRange,
    plan: KeyedPlan,
    millis: Long,
    partitions: Int,
    best: Option[BestOrder]) {

  /** What EXPLAIN says of it. */
  private[skew] def description: Seq[String] = Seq(
    s"$partitions partitions of the shuffle into ${plan.layout.numPartitions}",
    s"${plan.skewedKeys} keys in ${plan.buckets} buckets",
    "boundaries: quantiles of both sides"
  )
}
