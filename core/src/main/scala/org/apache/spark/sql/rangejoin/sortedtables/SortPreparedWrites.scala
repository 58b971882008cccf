// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.WriteFilesExec
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/**
 * Sorts what is written to a table that range joins read in its order, bucketed by keys and sorted by several
 * columns, as they sort their own input. Spark sorts it by (partition, bucket, keys, range), of which a prefix of 8
 * bytes has the first alone: rows are compared for all the rest. The rows of each file, and their order, are the same.
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
