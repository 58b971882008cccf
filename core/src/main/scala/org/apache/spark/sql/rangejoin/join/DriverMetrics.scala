/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

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
