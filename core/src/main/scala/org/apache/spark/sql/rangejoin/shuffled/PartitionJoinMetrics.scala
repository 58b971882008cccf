// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.scan.WindowMetrics

/** @param window those of the scan; candidates and memory are counted for an index, too */
case class PartitionJoinMetrics(
    buildDataSize: SQLMetric,
    buildTime: SQLMetric,
    sortedPartitions: SQLMetric,
    window: WindowMetrics
)
