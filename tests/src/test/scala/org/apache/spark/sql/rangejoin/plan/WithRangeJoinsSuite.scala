// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest

/** Which plans rules of ours are run on. */
class WithRangeJoinsSuite extends RangeJoinTest {

  /** Counts the plans that it is given. */
  private object Counted extends Rule[SparkPlan] {
    var plans = 0
    override def apply(plan: SparkPlan): SparkPlan = { plans += 1; plan }
  }

  /** Whether rules are run on the physical plan of a query, before anything is placed in it. */
  private def isLookedAt(query: String): Boolean = {
    val plan = spark.sql(query).queryExecution.sparkPlan
    Counted.plans = 0
    assert(WithRangeJoins(Seq(Counted, Counted))(plan).eq(plan))
    assert(Counted.plans == 0 || Counted.plans == 2)
    Counted.plans == 2
  }

  test("rules are run on plans with a range join or what comes with one, and on no others") {
    spark.range(100).selectExpr(
      "id % 5 AS k",
      "id AS t",
      "id + 3 AS e").createOrReplaceTempView("wr")
    val keys = "SELECT a.t FROM wr a JOIN wr b ON a.k = b.k"
    assert(!isLookedAt("SELECT k, max(t) FROM wr WHERE t > 7 GROUP BY k"))
    assert(!isLookedAt(keys))
    assert(!isLookedAt(s"$keys AND a.t * b.t < 99"))
    for (range <- Seq("b.t BETWEEN a.t AND a.e", "a.t < b.t")) {
      assert(isLookedAt(s"$keys AND $range"))
      assert(isLookedAt(s"SELECT count(*) FROM ($keys AND $range) GROUP BY t % 3"))
      assert(isLookedAt(s"SELECT a.t FROM wr a JOIN wr b ON $range"))
      withConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB") {
        assert(isLookedAt(s"$keys AND $range"))
      }
      withConf(Flag -> "false")(assert(!isLookedAt(s"$keys AND $range")))
    }
  }
}
