// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.BloomFilterMightContain
import org.apache.spark.sql.execution.FilterExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

import org.scalatest.BeforeAndAfterAll
import org.scalatest.tagobjects.Slow

/** Correlated subqueries of few left rows, whose keys filter the right side. */
class FilterMatchesByKeysSuite extends RangeJoinTest with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    for ((name, rows) <- Seq("l" -> 200, "r" -> 6000)) spark.range(rows)
      .selectExpr(
        "id",
        "IF(id % 13 = 5, NULL, id % 50) AS k",
        "concat('k', id % 3) AS s",
        "IF(id % 2 = 0, -0.0D, 0.0D) AS d",
        "IF(id % 11 = 3, NULL, id * 7 % 500) AS t",
        "id * 3 % 17 AS v",
        "IF(id % 5 = 0, 0, 1) AS z"
      )
      .write.saveAsTable(name)
  }

  override def afterAll(): Unit =
    try Seq("l", "r").foreach(name => spark.sql(s"DROP TABLE $name"))
    finally super.afterAll()

  private def filters(df: DataFrame): Seq[FilterExec] = nodes[FilterExec](df).filter(
    _.condition.exists(_.isInstanceOf[BloomFilterMightContain]))

  private def check(query: String, expected: Int = 1): Unit = {
    for (engine <- nextEngine) withConf(engine: _*) {
      val df = spark.sql(query)
      assertAsStock(df, spark.sql(query))
      assert(nodes[RangeJoinExec](df).nonEmpty, executedPlan(df))
      assert(filters(df).size == expected, s"$query\n${executedPlan(df)}")
    }
  }

  private val Range = "r.k = l.k AND r.t <= l.t"

  private def total(where: String = Range): String = s"(SELECT sum(v) FROM r WHERE $where)"

  test("few rows by a filter that the user wrote", Slow) {
    for (where <-
        Seq("l.id = 6", "l.id IN (18, 150, 199, 7)", "l.v < 2 AND l.id > 40"))
      check(s"SELECT l.id, ${total()} AS found FROM l WHERE $where")
  }

  // Spark 3.5 has no correlated subquery with a limit.
  testWhere(SPARK_VERSION >= "4.0")("the first matches of few rows") {
    check(s"SELECT (SELECT r.v FROM r WHERE $Range ORDER BY r.t DESC, r.id LIMIT 1) AS last " +
      "FROM l WHERE l.id < 9")
    for (join <- Seq("CROSS JOIN", "LEFT JOIN"))
      check(s"SELECT l.id, x.* FROM l $join LATERAL " +
        s"(SELECT r.id, r.v FROM r WHERE $Range ORDER BY r.t DESC, r.id LIMIT 3) x WHERE l.id < 9")
  }

  test("no left row, and one without a key") {
    for (where <- Seq("l.id = -1", "l.id = 5")) {
      val query = s"SELECT l.id, ${total()} AS found FROM l WHERE $where"
      for (engine <- bothEngines)
        withConf(engine: _*)(assertAsStock(spark.sql(query), spark.sql(query)))
    }
  }

  test("few rows that the query has itself") {
    val query =
      "SELECT l.i, (SELECT sum(v) FROM r WHERE r.k = l.k AND r.t BETWEEN l.f AND l.u) AS x " +
        "FROM VALUES (1, 5, 0, 100), (2, 7, 90, 400), (3, 5, 40, 60), (4, NULL, 1, 9) AS l(i, k, f, u)"
    check(query)
    // Numbered when the query is optimized, as it is outside of tests.
    withConf(SQLConf.OPTIMIZER_EXCLUDED_RULES.key -> "")(check(query))
  }

  test("several keys, NULL that equals NULL, casts, strings", Slow) {
    for (keys <- Seq(
        "r.k = l.k AND r.s = l.s",
        "r.k <=> l.k",
        "CAST(r.z AS BIGINT) = l.v",
        "r.s = l.s"
      )) check(s"SELECT l.id, ${total(s"$keys AND r.t <= l.t")} AS found FROM l WHERE l.v < 3")
  }

  test("not by keys that may raise an error, of rows that the query leaves out") {
    // Only rows that have z.
    val right =
      "(SELECT a.* FROM r a LEFT SEMI JOIN (SELECT id FROM r WHERE z = 1) b ON a.id = b.id)"
    check(
      s"SELECT l.id, (SELECT sum(v) FROM $right r WHERE 10 DIV r.z = l.k AND r.t <= l.t) AS found " +
        "FROM l WHERE l.id < 30",
      expected = 0)
    check(
      s"SELECT l.id, (SELECT sum(v) FROM (SELECT *, 10 DIV z AS q FROM r WHERE z > 0) r " +
        "WHERE r.q = l.k AND r.t <= l.t) AS found FROM l WHERE l.id < 30",
      expected = 0
    )
    val left = "(SELECT *, sum(z) OVER (PARTITION BY z) AS sz FROM l WHERE v < 9)"
    check(
      s"SELECT l.id, ${total("r.k = 10 DIV l.z AND r.t <= l.t")} AS found FROM $left l WHERE sz > 0",
      expected = 0)
  }

  test("not by keys that are more than columns", Slow) {
    spark.udf.register("same", (k: Long) => k)
    for (key <- Seq("same(r.z) = l.z", "r.k = CAST(l.v AS INT)", "r.v = length(l.s)"))
      check(
        s"SELECT l.id, ${total(s"$key AND r.t <= l.t")} AS found FROM l WHERE l.id < 9",
        expected = 0)
  }

  test("not in a subquery, which would wait for another one with the threads of both") {
    val inner = (0 until 2).map(i =>
      s"(SELECT sum(x) FROM (SELECT ${total()} AS x FROM l WHERE l.id BETWEEN $i AND ${i + 3})) AS c$i")
    check(s"SELECT ${inner.mkString(", ")}", expected = 0)
    val where = "l.id = (SELECT max(id) FROM r WHERE id < 9)"
    check(s"SELECT l.id, ${total()} AS found FROM l WHERE $where", expected = 0)
  }

  test("two subqueries", Slow) {
    check(
      s"SELECT l.id, ${total()} AS found, ${total("r.s = l.s AND r.t > l.t")} AS after " +
        "FROM l WHERE l.v < 3",
      expected = 2)
  }

  test("of more rows than the left ones", Slow) {
    for (l <- Seq(
        "(SELECT * FROM l WHERE rand(1) < 2 AND v < 3)",
        "(SELECT DISTINCT k, t, v AS id FROM l WHERE v < 3)",
        "(SELECT l.*, r.v AS w FROM l LEFT JOIN r ON l.id = r.id WHERE l.v < 3)",
        "(SELECT *, row_number() OVER (ORDER BY id) AS n FROM l WHERE v < 3)"
      )) check(s"SELECT l.id, ${total()} AS found FROM $l l")
  }

  test("not where all left rows are asked for, or others each time, or each is costly", Slow) {
    spark.udf.register("odd", (id: Long) => id % 2 == 1)
    for (where <- Seq("true", "l.t IS NOT NULL", "odd(l.id) AND l.v < 3"))
      check(s"SELECT l.id, ${total()} AS found FROM l WHERE $where", expected = 0)
    for (l <- Seq(
        "(SELECT id, CAST(50 * rand(1) AS BIGINT) AS k, t FROM l WHERE v < 3)",
        "(SELECT l.*, r.v AS w FROM l JOIN r ON l.id = r.id WHERE l.v < 3)"
      )) check(s"SELECT l.id, ${total()} AS found FROM $l l", expected = 0)
  }

  test("not where equal keys may have several hashes, or the right side is small", Slow) {
    val few = "FROM l WHERE l.id = 6"
    check(s"SELECT l.id, ${total("r.d = l.d AND r.t <= l.t")} AS found $few", expected = 0)
    withConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10m") {
      check(s"SELECT l.id, ${total()} AS found $few", expected = 0)
    }
    // The left side takes longer to read again than the right side to shuffle.
    check(
      "SELECT r.id, (SELECT sum(v) FROM l WHERE r.k = l.k AND r.t <= l.t) AS found " +
        "FROM r WHERE r.id = 6",
      expected = 0)
  }

  test("settings switch it off") {
    withConf(SQLConf.RUNTIME_BLOOM_FILTER_ENABLED.key -> "false") {
      check(s"SELECT l.id, ${total()} AS found FROM l WHERE l.id = 5", expected = 0)
    }
    withConf(RangeJoinConf.Correlated.key -> "false") {
      val df = spark.sql(s"SELECT l.id, ${total()} AS found FROM l WHERE l.id = 5")
      assert(filters(df).isEmpty, executedPlan(df))
    }
  }
}
