// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.execution.metric.SQLMetrics
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan}

/** Metrics of a node that are known on the driver. */
private[rangejoin] object DriverMetrics {

  /** Sets metrics of a node, by their names, and sends them to the SQL tab of the running query. */
  def post(node: SparkPlan, values: (String, Long)*): Unit = {
    val metrics = values.map { case (name, value) =>
      val metric = node.longMetric(name)
      metric.set(value)
      metric
    }
    val execution = node.session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(node.session.sparkContext, execution, metrics)
  }
}
