// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.WriteFilesExec
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/**
 * Uses the sort of range joins for what is written to a table that is bucketed by keys and sorted by several columns.
 * Spark sorts by (partition, bucket, keys, range) with a prefix of the first column only, and compares rows by all
 * others. The rows of each file, and their order, are the same.
 */
object SortPreparedWrites extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(RangeJoinConf.Enabled) || !conf.getConf(RangeJoinConf.SortedTables)) plan
    else plan.transformUp {
      case write: WriteFilesExec if write.bucketSpec.exists(_.sortColumnNames.size > 1) =>
        write.withNewChildren(Seq(sorted(write.child)))
    }

  private def sorted(plan: SparkPlan): SparkPlan = plan match {
    case SortExec(order, false, child, _) => RangeSortExec.sort(order, child)
    case other                            => other
  }
}
