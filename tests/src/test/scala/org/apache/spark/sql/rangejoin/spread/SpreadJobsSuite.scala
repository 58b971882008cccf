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

package org.apache.spark.sql.rangejoin.spread

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinConf

/** What is run to choose the buckets of a join, also where its sides have such joins in them. */
class SpreadJobsSuite extends SmallSidesTest {

  test("the sample of a join above waits for nothing, and measures nothing") {
    views()
    val few = "(SELECT * FROM r WHERE id % 50 = 1)"
    for (x <- Seq(
        s"SELECT l.id, r.p FROM l LEFT JOIN $few r ON $Band",
        s"SELECT * FROM l WHERE p > (SELECT count(*) FROM l LEFT JOIN $few r ON $Band)"))
      withConf(Sizes: _*) {
        def query = sql(s"SELECT x.id FROM ($x) x JOIN l y ON y.p BETWEEN x.p AND x.p + 50")
        val df = query
        assert(executedPlan(df).toString.contains("MeasureSide"), executedPlan(df))
        val above = bucketNodes(df).head.spread
        for (isOwner <- Seq(true, false)) {
          val sampled = above.boundsOf(isOwner)
          assert(collectWithSubqueries(sampled) { case w: AwaitSizesExec => w }.isEmpty, sampled)
        }
        assertSameRows(rows(df), withConf(Flag -> "false")(rows(query)), executedPlan(df).toString)
      }
  }

  test("samples of joins within joins: as many as there are joins") {
    views()
    def chain(joins: Int) = sql((1 to joins).foldLeft("SELECT r0.id FROM r r0") { (text, i) =>
      s"$text JOIN r r$i ON r$i.p BETWEEN r${i - 1}.p AND r${i - 1}.p + 1"
    })
    for (adaptive <- Seq("true", "false"))
      withConf(
        SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive,
        SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
        RangeJoinConf.SpreadThreshold.key -> "1",
        // These run shuffles of a sample as jobs of their own.
        RangeJoinConf.SpreadKeys.key -> "false"
      ) {
        val samples = for (joins <- 2 to 5) yield {
          val df = chain(joins)
          val started = startedJobs(df.collect())
          assert(bucketNodes(df).size == 2 * joins, executedPlan(df))
          descriptions(started).count(_.contains("bounds of"))
        }
        assert(samples == (2 to 5))
      }
  }

  test("no sample is planned in a thread that broadcasts of the sample may wait for") {
    views()
    object Planning extends SparkStrategy {
      val threads = new java.util.concurrent.ConcurrentLinkedQueue[String]
      override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
        if (RangeSpread.isPlanningSample) threads.add(Thread.currentThread.getName)
        Nil
      }
    }
    val before = spark.experimental.extraStrategies
    for (adaptive <- Seq("true", "false")) withConf(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive,
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
      Buckets -> "5") {
      def query = sql(s"""SELECT /*+ BROADCAST(x) */ count(*), sum(x.id) FROM r AS y JOIN
        (SELECT /*+ BROADCAST(s) */ l.id, l.p FROM l JOIN r AS s ON l.id = s.id JOIN r ON $Band) x
        ON y.id = x.id""")
      spark.experimental.extraStrategies = Planning +: before
      try {
        Planning.threads.clear()
        val df = query
        assertSameRows(rows(df), withConf(Flag -> "false")(rows(query)), executedPlan(df).toString)
        assert(bucketNodes(df).size == 2, executedPlan(df))
      } finally spark.experimental.extraStrategies = before
      assert(!Planning.threads.isEmpty)
      assert(Planning.threads.asScala.forall(!_.startsWith("broadcast-exchange")), Planning.threads)
    }
  }

  test("a query whose sample has failed, or was cancelled, can be run again") {
    views()
    val static = Seq(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false",
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1")
    for {
      generated <- Seq("true", "false")
      side <- Seq("l", "r")
      isCancelled <- Seq(false, true)
    } withConf(static ++ Seq(
      Buckets -> "5",
      SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> generated): _*) {
      spark.udf.register("failing", (p: Long) => p)
      def query = sql(s"""SELECT l.id, count(*) FROM
        (SELECT id, ${if (side == "l") "failing(p) AS p" else "p"} FROM l) l JOIN
        (SELECT ${if (side == "r") "failing(p) AS p" else "p"} FROM r) r ON $Band GROUP BY l.id""")
      val expected = withConf(Flag -> "false")(rows(query))
      spark.udf.register("failing", FailingFunction.function)
      FailingFunction.seconds = if (isCancelled) 30 else 0
      val df = query
      assert(bucketNodes(df).size == 2, executedPlan(df))
      val jobs = startedJobs {
        val error =
          intercept[Exception](if (isCancelled) cancelled(rows(df)) else rows(df)).toString
        assert(error.contains(if (isCancelled) "SPARK_JOB_CANCELLED" else "not yet"), error)
      }
      // The sample: for the other side it is not tried again.
      assert(jobs.size == 1)
      FailingFunction.seconds = -1
      for (_ <- 1 to 2) assertSameRows(rows(df), expected, executedPlan(df).toString)
    }
  }
}
