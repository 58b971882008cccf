// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.BandOfTables
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec

/** The range join among other operators: below, above, beside itself. */
class SurroundingsSuite extends BandOfTables {

  override protected def hasOneEngine: Boolean = true

  override protected def keys: Int = 6
  override protected def times: Int = 120
  override protected def reach: Int = 3

  test("the join fuses with its parents, and its children keep their own code generation") {
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      val df = l.join(r, band).selectExpr("l.id + r.id AS n").where("n % 2 = 0")
      val stages = executedPlan(df).collect { case stage: WholeStageCodegenExec => stage }
      val joinStage =
        stages.filter(s => fused(s.child).exists(_.isInstanceOf[SortMergeRangeJoinExec]))
      assert(joinStage.size == 1, executedPlan(df))
      assert(fused(joinStage.head.child).head.isInstanceOf[ProjectExec], executedPlan(df))
    }
    checkAgainstStock(l.join(r, band).selectExpr("l.id + r.id AS n").where("n % 2 = 0"))
  }

  for (union <- Seq("true", "false")) {
    test(s"UNION over the join, union code generation $union") {
      withConf("spark.sql.codegen.wholeStage.union.enabled" -> union) {
        def one = l.join(r, band).select(col("l.id"), col("r.t"))
        checkAgainstStock(one.union(table(30, 5).select("id", "t")))
        checkAgainstStock(one.union(one.where("id > 7")).selectExpr("id + t"), joins = 2)
        checkAgainstStock(
          one.groupBy("id").count().union(table(30, 5).selectExpr("id", "id")),
          joins = 1
        )
      }
    }
  }

  test("self join") {
    checkAgainstStock(l.join(table(200, 1).as("r"), band))
    val t = table(100, 3)
    t.createOrReplaceTempView("selves")
    checkAgainstStock(spark.sql(
      """SELECT a.id, b.id FROM selves a JOIN selves b
        |ON a.k = b.k AND b.t > a.t AND b.t <= a.t + 10 AND a.id <> b.id""".stripMargin
    ))
  }

  test("joins above joins") {
    val x = table(80, 4).as("x")
    checkAgainstStock(
      l.join(r, band).join(x, expr("r.k = x.k and abs(x.t - r.t) <= 1")),
      joins = 2
    )
    checkAgainstStock(l.join(r, band).join(x, expr("l.id = x.id")))
    checkAgainstStock(l.join(r.join(x, expr("r.id = x.id")).select("r.*").as("r"), band))
  }

  test("cached sides and a cached join") {
    val cachedLeft = table(200, 1).cache()
    val cachedRight = table(150, 2).cache()
    try {
      checkAgainstStock(cachedLeft.as("l").join(cachedRight.as("r"), band))
      val cached = l.join(r, band).select("l.id", "r.t").cache()
      try {
        val expected = withConf(Flag -> "false")(
          rows(table(200, 1).as("l").join(r, band).select(col("l.id") + 0, col("r.t")))
        )
        assertSameRows(rows(cached), expected, "cached join")
        assertSameRows(rows(cached.where("id >= 0")), expected, "read again")
      } finally cached.unpersist()
    } finally {
      cachedLeft.unpersist()
      cachedRight.unpersist()
    }
  }

  test("SQL, with aggregation, ordering and a window function above") {
    table(200, 1).createOrReplaceTempView("l")
    table(150, 2).createOrReplaceTempView("r")
    val from = "FROM l JOIN r ON l.k = r.k AND r.t BETWEEN l.t - 3 AND l.t + 3"
    checkAgainstStock(spark.sql(s"SELECT l.k, count(*), sum(r.t) $from GROUP BY l.k"))
    checkAgainstStock(spark.sql(s"SELECT count(*) $from"))
    checkAgainstStock(spark.sql(s"SELECT l.id, r.id $from ORDER BY 1, 2 LIMIT 20"))
    checkAgainstStock(spark.sql(
      s"SELECT l.id, rank() OVER (PARTITION BY l.k ORDER BY r.t, l.id, r.id) $from"
    ))
    checkAgainstStock(spark.sql(s"SELECT * $from WHERE l.id + r.id > 50"))
  }

  test("subqueries, Scala UDFs and expressions of both sides in the residual") {
    table(200, 1).createOrReplaceTempView("l")
    table(150, 2).createOrReplaceTempView("r")
    spark.udf.register("apart", (a: Long, b: Long) => math.abs(a - b) > 5)
    val on = "l.k = r.k AND r.t BETWEEN l.t - 3 AND l.t + 3"
    checkAgainstStock(spark.sql(
      s"SELECT l.id, r.id FROM l JOIN r ON $on AND l.id + r.id > (SELECT avg(id) FROM r)"
    ))
    checkAgainstStock(spark.sql(s"SELECT l.id, r.id FROM l JOIN r ON apart(l.id, r.id) AND $on"))
    checkAgainstStock(spark.sql(
      s"SELECT l.id FROM l JOIN r ON $on AND (l.id % 2 = 0 OR r.id % 3 = l.id % 3)"
    ))
    checkAgainstStock(spark.sql(
      "SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND r.t >= l.t - (SELECT min(k) FROM r) " +
        "AND r.t <= l.t + (SELECT max(k) FROM l)"
    ))
  }

  test("files are named below joins that shuffle nothing") {
    val tables = Seq("left_files", "right_files")
    try {
      for (name <- tables; mode <- Seq("overwrite", "append"))
        table(60, name.length).coalesce(1).write.mode(mode).bucketBy(1, "k").saveAsTable(name)
      val named = for (name <- tables) yield spark.table(name).selectExpr(
        "*",
        "regexp_extract(input_file_name(), '[^/]*$', 0) AS file",
        "input_file_block_length() AS size")
      val Seq(files, others) = named: @unchecked
      assert(files.select("file").distinct().count() == 2)
      for (kind <- Seq("inner", "left_outer", "right_outer", "full_outer")) {
        def joined = files.as("l").join(others.as("r"), band, kind)
        val df = joined
        assert(!executedPlan(df).exists(_.isInstanceOf[Exchange]), executedPlan(df))
        checkAgainstStock(joined)
      }
    } finally tables.foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))
  }
}
