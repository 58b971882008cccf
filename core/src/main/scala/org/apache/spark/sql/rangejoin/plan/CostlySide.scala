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

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.expressions.xml.XPathExtract
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.{PlanLater, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

/**
 * Sides of joins without keys whose rows cost more to make than to write: those that call user-defined
 * functions, regular expressions, hashes, JSON and the like. Such a side would be made for its measure, for the
 * sample, for the lengths of its ranges and for the join. With an exchange of its own it is made once: adaptive
 * execution runs the exchange first, as a stage of known size, and everything else reads what it has written.
 *
 * A stage counts as read, not made, whatever is below it.
 */
private[plan] object CostlySide {

  def isCostly(side: LogicalPlan): Boolean = side.exists {
    case _: ObjectConsumer | _: ObjectProducer | _: ScriptTransformation => true
    case node => node.expressions.exists(_.exists(isCostly))
  }

  /** The rows of a side, written once. */
  def written(side: LogicalPlan, conf: SQLConf, parallelism: Int): SparkPlan = {
    // Enough for all cores to read them; not the hundreds that a shuffle of a large table may have.
    val partitions = math.max(1, math.min(conf.numShufflePartitions, TasksPerCore * parallelism))
    val exchange = ShuffleExchangeExec(RoundRobinPartitioning(partitions), PlanLater(side))
    exchange.setLogicalLink(side)
    exchange
  }

  private val TasksPerCore = 2

  private def isCostly(e: Expression): Boolean = e match {
    case _: UserDefinedExpression | _: PythonUDF | _: Invoke                   => true
    case _: Sha2 | _: Sha1 | _: Md5                                            => true
    case _: RLike | _: RegExpReplace | _: RegExpExtractBase | _: StringSplit   => true
    case _: GetJsonObject | _: JsonToStructs | _: StructsToJson | _: JsonTuple => true
    case _: CsvToStructs | _: XPathExtract | _: HigherOrderFunction            => true
    case _                                                                     => false
  }
}
