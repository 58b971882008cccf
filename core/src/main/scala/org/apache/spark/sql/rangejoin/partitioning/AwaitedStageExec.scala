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

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.Future

import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec

/** The stage of an [[AwaitWriteExec]], in a plan that is made while it waits. */
case class AwaitedStageExec(@transient writing: Writing) extends QueryStageExec {

  override val id: Int = -1

  override val plan: SparkPlan = NoRowsExec(Nil)

  if (writing != null) _resultOption = writing.result

  override def nodeName: String = "AwaitWrite"

  override def stringArgs: Iterator[Any] = Iterator.empty

  override protected def doMaterialize(): Future[Any] = writing.future

  override def getRuntimeStatistics: Statistics = Statistics(0, Some(0))
}
