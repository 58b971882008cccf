// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.{ConvertToLocalRelation, InferFiltersFromConstraints}
import org.apache.spark.sql.functions.udf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings

/**
 * Errors of the streamed side over a broadcast side in which nothing can match: raised where stock
 * raises them, and nowhere else.
 */
class EmptyIndexSuite extends BroadcastTables {

  private val joinTypes = Seq("INNER", "LEFT OUTER", "LEFT SEMI", "LEFT ANTI", "EXISTENCE")

  private val engines = Seq("true", "false").map(generated =>
    Seq(SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> generated, adaptive(false), ansiOn))

  private def ansiOn = SQLConf.ANSI_ENABLED.key -> "true"

  // A filter of what is NULL would leave no rows.
  override protected def settings: Settings = super.settings :+
    (SQLConf.OPTIMIZER_EXCLUDED_RULES.key ->
      Seq(ConvertToLocalRelation, InferFiltersFromConstraints).map(_.ruleName).mkString(","))

  private val build = Seq(
    "no rows" -> "WHERE id > 100",
    "rows whose bounds are NULL" -> "",
    "rows whose keys are NULL" -> "",
    "rows that match" -> ""
  )

  private def view(contents: String, where: String): Unit = {
    val none = s"CASE WHEN id < 100 THEN NULL ELSE id END"
    val (k, t) = contents match {
      case "rows whose bounds are NULL" => ("id", none)
      case "rows whose keys are NULL"   => (none, "id")
      case _                            => ("id", "id")
    }
    spark.range(5).createOrReplaceTempView("ids")
    spark.sql(s"SELECT id, 5 - id AS d FROM ids").createOrReplaceTempView("l")
    spark.sql(s"SELECT id, $k AS k, $t AS t FROM ids $where").createOrReplaceTempView("r")
  }

  private def joined(joinType: String, streamed: String, on: String): DataFrame =
    spark.sql(joinType match {
      case "EXISTENCE" =>
        s"""SELECT id FROM $streamed l
           |WHERE id < 0 OR NOT EXISTS (SELECT 1 FROM r WHERE $on)""".stripMargin
      case "LEFT SEMI" | "LEFT ANTI" => s"SELECT l.id FROM $streamed l $joinType JOIN r ON $on"
      case _                         =>
        s"SELECT /*+ BROADCAST(r) */ l.id, r.t FROM $streamed l $joinType JOIN r ON $on"
    })

  private def cases = oneIn(3)(for (joinType <- joinTypes; engine <- engines)
    yield (joinType, engine))

  /** Checks that the outcome is that of stock; returns whether stock raised. */
  private def check(joinType: String, streamed: String, on: String, engine: Settings): Boolean =
    withConf(engine: _*) {
      def df = joined(joinType, streamed, on)
      val wanted = withConf(Flag -> "false")(outcome(df))
      val actual = df
      assert(broadcastJoins(actual).size == 1, executedPlan(actual))
      assert(outcome(actual) == wanted, s"$joinType, $on, $engine\n${executedPlan(actual)}")
      wanted.isLeft
    }

  for ((name, where) <- build) test(s"a key that raises, over $name") {
    view(name, where)
    for ((joinType, engine) <- cases) {
      val raised =
        check(joinType, "l", "r.k = 10 div (l.d - 3) AND r.t BETWEEN l.id AND l.id + 1", engine)
      // Over no rows stock evaluates keys in outer and existence joins.
      assert(raised == (name != "no rows" || Set("LEFT OUTER", "EXISTENCE")(joinType)))
    }
  }

  for ((name, where) <- build) test(s"a column that raises below a join without keys, over $name") {
    view(name, where)
    // One that is not moved into the condition.
    spark.udf.register("careful", udf((d: Long) => 10 / (d - 3)).asNondeterministic())
    val streamed = "(SELECT id, careful(d) AS t FROM l)"
    // Interpreted joins read whole rows, and so does stock's existence join.
    for ((joinType, engine) <- cases) {
      val raised = check(joinType, streamed, "r.t BETWEEN l.t AND l.t + 1", engine)
      assert(raised || joinType != "EXISTENCE" && engine == engines.head, joinType)
    }
  }

  test("adaptive execution drops a join over no rows") {
    view("no rows", "WHERE id > 100")
    for (joinType <- joinTypes) {
      val engine = Seq(adaptive(true), ansiOn)
      check(joinType, "l", "r.k = 10 div (l.d - 3) AND r.t BETWEEN l.id AND l.id + 1", engine)
    }
  }
}
