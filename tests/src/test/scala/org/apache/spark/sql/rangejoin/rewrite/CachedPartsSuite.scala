// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.shims.ClassicSession.Dataset

/**
 * A part of a query that is cached is found in the cache, wherever it is read and under whatever settings. Stock Spark
 * finds it by its plan; each part says when it was computed, so that one which is computed again has other rows.
 */
class CachedPartsSuite extends RangeJoinTest {
  import CachedPartsSuite._

  private def tables(): Unit = {
    spark.range(40).selectExpr("id", "id % 3 AS k", "id * 7 % 31 AS t")
      .createOrReplaceTempView("l")
    spark.range(90).selectExpr("id", "id % 4 AS k", "id * 5 % 37 AS t", "id % 11 AS v")
      .createOrReplaceTempView("r")
  }

  private def sql(query: String): DataFrame = spark.sql(query)

  private def inMemory(plan: LogicalPlan): Int =
    plan.collectWithSubqueries { case cached: InMemoryRelation => cached }.size

  /** The relations of the cache that a query reads, as Spark finds them. */
  private def found(query: => DataFrame): Int = inMemory(execution(query).withCachedData)

  private def moments(df: DataFrame): Seq[String] = rows(df.selectExpr("now").distinct())

  /**
   * Reads a cached part beside something else, each time under other settings: as often from the cache as stock Spark
   * does, with its rows.
   */
  private def check(
      part: => DataFrame,
      surroundings: Seq[(String, DataFrame => DataFrame)]): Unit = {
    val cached = part.persist()
    try {
      val now = moments(cached)
      assert(now.size == 1)
      // Spark 3.5 does not find a common table expression.
      val isFound = withConf(Flag -> "false")(found(part)) > 0
      for {
        (name, read) <- surroundings
        setting = Readings(hits.getAndIncrement() % Readings.size)
      } {
        val (ofStock, expected) = withConf(Flag -> "false") {
          val query = read(part)
          (found(query), rows(query))
        }
        withConf(setting: _*) {
          val query = read(part)
          val clue = s"$name under $setting:\n${execution(query)}"
          assert(found(query) == ofStock, clue)
          // Stock Spark itself loses a common table expression that is read by another one.
          assert(ofStock > 0 || !isFound || name.contains("that is read twice"), clue)
          assert((inMemory(execution(query).optimizedPlan) > 0) == (ofStock > 0), clue)
          assertSameRows(rows(query), expected, clue)
          if (isFound) assert(moments(part) == now, clue)
        }
      }
      part.unpersist(blocking = true)
      assert(found(part) == 0)
    } finally cached.unpersist(blocking = true)
  }

  private val hits = new AtomicInteger

  private def asOf(left: DataFrame): DataFrame =
    asOf(left, sql("SELECT id AS rid, k, t AS rt FROM r"))

  private def asOf(left: DataFrame, right: DataFrame): DataFrame =
    AsOfJoinSuite.joinAsOf(left).invoke(
      left,
      right,
      left("t"),
      right("rt"),
      Seq("k"),
      "left",
      null,
      Boolean.box(true),
      "backward").asInstanceOf[DataFrame]

  /** Parts that are rewritten, and one that is not. */
  private def parts: Seq[(String, () => DataFrame)] = Seq(
    "a subquery for a row" -> (() => sql(s"SELECT *, $Now, $Latest AS f FROM l")),
    "a subquery for a sum" -> (() => sql(s"SELECT *, $Now, $Sum AS f FROM l")),
    "a subquery without a key" -> (() =>
      sql(s"SELECT *, $Now, (SELECT max_by(r.v, r.t) FROM r WHERE r.t <= l.t) AS f FROM l")),
    "a subquery in a filter" -> (() => sql(s"SELECT *, $Now FROM l WHERE $Sum > 20")),
    "a subquery within another" -> (() =>
      sql(s"SELECT *, $Now FROM l WHERE id IN (SELECT l.id FROM l WHERE $Latest > 3)")),
    "an as-of join" -> (() => asOf(sql("SELECT * FROM l")).selectExpr("id", "l.k", "t", "rt", Now)),
    "a common table expression that is read twice" -> (() =>
      sql(s"WITH c AS (SELECT *, $Now, $Latest AS f FROM l) " +
        "SELECT a.id, a.k, a.t, a.now, b.f FROM c a JOIN c b ON a.id = b.id")),
    "one without a subquery that is read twice" -> (() =>
      sql(s"WITH c AS (SELECT *, $Now FROM l) " +
        "SELECT a.*, b.t AS f FROM c a JOIN c b ON a.id = b.id")),
    "a view" -> (() => {
      sql(s"SELECT *, $Now, $Sum AS f FROM l").createOrReplaceTempView("viewed")
      spark.table("viewed")
    }),
    "a range join" -> (() =>
      sql(s"SELECT l.*, $Now, r.v FROM l JOIN r ON r.k = l.k AND r.t BETWEEN l.t - 2 AND l.t"))
  ) ++ (if (hasCorrelatedLimits) {
          Seq("LATERAL" -> (() =>
            sql(s"SELECT l.*, $Now, s.v FROM l, LATERAL (SELECT r.v FROM r WHERE $Range " +
              "ORDER BY r.t DESC, r.id LIMIT 2) AS s")))
        } else Nil) ++ (if (SPARK_VERSION >= "4.2") {
                          Seq("NEAREST BY" -> (() =>
                            sql(s"SELECT l.id, l.k, l.t, $Now, r.v FROM l JOIN r " +
                              "EXACT NEAREST 1 BY DISTANCE abs(l.t - r.t)")))
                        } else Nil)

  private def reading(query: String): DataFrame => DataFrame = part => {
    part.createOrReplaceTempView("part")
    sql(query)
  }

  private def surroundings: Seq[(String, DataFrame => DataFrame)] = Seq(
    "alone" -> reading("SELECT id, k, t FROM part"),
    "beside the name of a file" -> reading("SELECT id, input_file_name() FROM part"),
    "twice" -> reading("SELECT id FROM part UNION ALL SELECT id FROM part WHERE k = 1"),
    "by a common table expression that is read twice" -> reading(
      "WITH c AS (SELECT * FROM part) SELECT a.id, b.t FROM c a JOIN c b ON a.id = b.id"),
    "below a correlated subquery" -> reading(
      s"SELECT l.id, $Latest AS g FROM part AS l"),
    "below one of a common table expression that is read twice" -> reading(
      s"WITH c AS (SELECT l.id, $Sum AS g FROM part AS l) " +
        "SELECT a.id, b.g FROM c a JOIN c b ON a.id = b.id"),
    "as what a correlated subquery reads" -> reading(
      "SELECT l.id, (SELECT sum(r.id) FROM part AS r WHERE r.k = l.k AND r.t <= l.t) AS g FROM l"),
    "in a subquery" -> reading("SELECT id FROM l WHERE id IN (SELECT id FROM part WHERE t > 5)"),
    "below an as-of join" -> (part => asOf(part.select("id", "k", "t")).selectExpr("id", "rt")),
    "in a command's query" -> (part => {
      part.createOrReplaceTempView("part")
      sql("CREATE OR REPLACE TEMP VIEW named AS SELECT id, t FROM part")
      sql("SELECT * FROM named")
    }),
    "aggregated" -> reading("SELECT k, count(*), max(t) FROM part GROUP BY k"),
    "below a limit" -> reading("SELECT max(id) FROM (SELECT id FROM part ORDER BY id LIMIT 3)")
  )

  // Of each part every second surrounding, which the next part is not read in.
  testOfCases("each part is read in surroundings", 22)(for {
    i <- parts.indices
    j <- surroundings.indices
    if (i + j) % 2 == 0 || RangeJoinTest.EveryEngine
  } yield (i, j)) { cases =>
    tables()
    for ((i, read) <- cases.groupBy(_._1).toSeq.sortBy(_._1))
      check(parts(i)._2(), read.map { case (_, j) => surroundings(j) })
  }

  testOfCases("cached under other settings than it is read with", 9)(
    for (i <- parts.indices; j <- Readings.indices if (i + j) % 5 == 0) yield (i, j)) { cases =>
    tables()
    for ((i, j) <- cases) {
      val (part, setting) = (parts(i)._2, Readings(j))
      val cached = withConf(setting: _*)(part().persist())
      try {
        assert(found(part()) > 0, s"cached under $setting")
        assert(moments(part()) == moments(part()))
      } finally cached.unpersist(blocking = true)
      assert(found(part()) == 0)
    }
  }

  test("CACHE LAZY TABLE, UNCACHE and a view's name") {
    tables()
    val query = s"SELECT *, $Now, $Latest AS f FROM l"
    sql(s"CACHE LAZY TABLE lazily AS $query")
    assert(found(sql("SELECT id FROM lazily")) == 1)
    assert(found(sql(s"SELECT l.id, $Sum AS g FROM lazily AS l")) == 1)
    assert(moments(spark.table("lazily")) == moments(spark.table("lazily")))
    sql("UNCACHE TABLE lazily")
    assert(found(sql("SELECT id FROM lazily")) == 0)
  }

  test("what depends on a cached part is dropped with it") {
    tables()
    val part = sql(s"SELECT *, $Now, $Latest AS f FROM l").persist()
    val more = part.selectExpr("id", "now", "f + 1 AS g").persist()
    assert(found(part.select("id")) == 1)
    assert(found(more.select("id")) == 1)
    // Cascades to `more` only if the plan that it is cached by has the part in it.
    spark.sharedState.cacheManager.uncacheQuery(
      part.asInstanceOf[Dataset[_]],
      cascade = true)
    assert(found(part.select("id")) == 0)
    assert(found(more.select("id")) == 0)
  }

  test("a table that is written to renews what is cached of it, without being analyzed again") {
    tables()
    withTable("stored") {
      sql("CREATE TABLE stored USING parquet AS SELECT * FROM l")
      def part = sql(s"SELECT l.id, $Latest AS f FROM stored l").where("f > 2")
      def asStock = rowsOfStock(part.selectExpr("id + 0 AS id", "f"))
      val before = rows(part.persist())
      try {
        assert(execution(part).normalized.analyzed)
        sql("INSERT INTO stored VALUES (1000, 1, 30)")
        assert(found(part) == 1)
        val after = rows(part)
        assert(after.size == before.size + 1)
        part.unpersist(blocking = true)
        assert(found(part) == 0)
        assertSameRows(after, asStock, "renewed")
      } finally part.unpersist(blocking = true)
    }
  }

  test("a plan that was executed, and one whose setting has changed since") {
    tables()
    def query = sql(s"SELECT l.id, $Sum AS f FROM l")
    val executed = execution(query)
    rows(query)
    val again = Dataset.ofRows(spark, executed.withCachedData)
    val part = query.persist()
    try assert(found(again.select("id")) == 1)
    finally part.unpersist(blocking = true)
    assert(nodes[SortMergeRangeJoinExec](again).size == 1)
    withConf(Flag -> "false") {
      val off = Dataset.ofRows(spark, executed.normalized)
      assert(nodes[SortMergeRangeJoinExec](off).isEmpty)
      assertSameRows(rows(off), rows(query), "switched off")
    }
  }

  private def withTable(name: String)(block: => Unit): Unit =
    try block
    finally sql(s"DROP TABLE IF EXISTS $name")
}

object CachedPartsSuite {
  private val Now = "current_timestamp() AS now"

  private val Range = "r.k = l.k AND r.t <= l.t"

  private val Latest = s"(SELECT max_by(r.v, r.t) FROM r WHERE $Range)"

  private val Sum = s"(SELECT sum(r.v) FROM r WHERE $Range)"

  /** Settings that say what is rewritten, and how. */
  private val Readings: Seq[RangeJoinTest.Settings] = Seq(
    Nil,
    Seq(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"),
    Seq(RangeJoinConf.Correlated.key -> "false"),
    Seq(RangeJoinConf.AggregatedMatches.key -> "false"),
    Seq(RangeJoinConf.BestMatches.key -> "false"),
    Seq(RangeJoinConf.Enabled.key -> "false"),
    Seq(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false")
  )
}
