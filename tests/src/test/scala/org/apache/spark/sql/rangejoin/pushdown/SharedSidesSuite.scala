// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.functions.{expr, max, monotonically_increasing_id}

/** Sides that get no limit, since Spark or their source would then do more. */
class SharedSidesSuite extends LimitedSides {

  testOfCases("a side that is there several times is read once, as in stock Spark", 2)(
    Seq("true", "false")) { ofAdaptive =>
    views()
    def reused(df: DataFrame) = collect(df.queryExecution.executedPlan) {
      case reused: ReusedExchangeExec => reused
    }.size
    val few = "(SELECT k, s, max(e) AS e FROM r GROUP BY k, s)"
    def joined(table: String, from: Int) = s"SELECT l.id, x.s, x.e FROM l " +
      s"JOIN $table x ON l.k = x.k AND l.t BETWEEN x.s AND x.e WHERE l.t >= $from"
    def check(query: String, isInferred: Boolean): Unit =
      for (adaptive <- ofAdaptive) withConf("spark.sql.adaptive.enabled" -> adaptive) {
        def ran(on: String) = withConf(Flag -> on) {
          val df = spark.sql(query)
          df.collect()
          (df.queryExecution.optimizedPlan.toString.contains("implied"), reused(df))
        }
        val (_, ofStock) = ran("false")
        assert(ofStock > 0, query)
        assert(ran("true") == (isInferred -> ofStock), query)
        checkAgainstStock(spark.sql(query), joins = 2)
      }
    // The same side, with other limits; in part the same, since the rest is computed of that.
    for (side <- Seq(few, "r"))
      check(joined(side, 100) + " UNION ALL " + joined(side, 110), isInferred = false)
    check(
      joined(few, 100) + " UNION ALL " + joined(s"(SELECT k, s, e FROM $few WHERE e % 2 = 0)", 110),
      isInferred = false)
    // The same join: its sides are filtered alike.
    check(joined(few, 100) + " UNION ALL " + joined(few, 100), isInferred = true)
  }

  test("a side that a subquery of the query has as well is read once, as in stock Spark") {
    views()
    val few = "(SELECT k, s, max(e) AS e FROM r WHERE k > 0 AND s > 0 GROUP BY k, s)"
    val joined = "l JOIN x ON l.k = x.k AND x.s BETWEEN l.t AND l.t + 9 WHERE l.t >= 100"
    val queries = Seq(
      s"SELECT l.id, x.s FROM $joined AND x.e > (SELECT avg(e) FROM x)" -> 1,
      s"SELECT k, s, e, (SELECT count(*) FROM $joined AND x.e > 0) FROM x" -> 0)
    for {
      (select, joins) <- queries
      query = s"WITH x AS $few $select"
      adaptive <- Seq("true", "false")
    } withConf("spark.sql.adaptive.enabled" -> adaptive) {
      def reused(on: String) = withConf(Flag -> on) {
        val df = spark.sql(query)
        df.collect()
        collectWithSubqueries(df.queryExecution.executedPlan) { case reused: ReusedExchangeExec =>
          reused
        }.size
      }
      assert(reused("false") == 1)
      assert(reused("true") == 1)
      checkAgainstStock(spark.sql(query), joins)
    }
    val alone = spark.sql(s"WITH x AS $few SELECT l.id, x.s FROM $joined")
    assert(alone.queryExecution.optimizedPlan.toString.contains("implied"))
  }

  test("a side that gives other names to the columns of an aggregate") {
    views()
    val few = spark.table("r").where("s >= 100").groupBy("k", "s").agg(max("e"))
    // Spark leaves the new names in a projection of their own, above what has a number.
    val numbered = few.withColumn("n", monotonically_increasing_id()).toDF("rk", "rs", "re", "rn")
    def joined = numbered.join(spark.table("l"), expr("k = rk AND t BETWEEN rs AND re"), "left")
      .selectExpr("id", "rs", "rn >= 0")
    assert(joined.queryExecution.optimizedPlan.toString.contains("implied"))
    checkAgainstStock(joined)
  }

  test("a source that can count does so, and gets no limit that it does not know") {
    views()
    spark.read.format(classOf[CountingSource].getName).load().createOrReplaceTempView("f")
    def query(side: String) = spark.sql(
      s"SELECT l.id, a.* FROM l JOIN $side a ON a.at BETWEEN l.t AND l.t + 20 WHERE l.t >= 100")
    def counted = query("(SELECT at, count(*) AS n FROM f GROUP BY at)")
    for (on <- Seq("false", "true")) withConf(Flag -> on) {
      val scan = only(counted.queryExecution.optimizedPlan.collect {
        case relation: DataSourceV2ScanRelation => relation.scan
      })
      assert(scan.readSchema().fieldNames.toSeq == Seq("at", "n"))
    }
    checkAgainstStock(counted)
    assert(query("f").queryExecution.optimizedPlan.toString.contains("implied"))
    checkAgainstStock(query("f"))
  }
}
