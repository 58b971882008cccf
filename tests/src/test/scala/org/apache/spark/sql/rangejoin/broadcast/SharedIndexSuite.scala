// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import java.util.concurrent.{Callable, Executors}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.{ConvertToLocalRelation, InferFiltersFromConstraints}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.functions.udf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{AdaptiveEngines, Settings}
import org.apache.spark.sql.rangejoin.conf.InternalConf

/** Joins with other ranges of rows that are broadcast once: each has an index of its own, made of the first. */
class SharedIndexSuite extends BroadcastTables {

  override protected def hasOneEngine: Boolean = true

  /** Without filters of NULL, which differ by range, and with which stock shares nothing either. */
  override protected def settings: Settings = super.settings :+
    (SQLConf.OPTIMIZER_EXCLUDED_RULES.key ->
      Seq(ConvertToLocalRelation, InferFiltersFromConstraints).map(_.ruleName).mkString(","))

  /** Streamed rows `f`; `d` to broadcast, with NULL in the key and in each of its columns. */
  private def views(where: String = "true"): Unit = {
    def value(seed: Int) =
      s"IF(pmod(hash(id, $seed), 5) = 0, NULL, pmod(hash(id, ${seed + 1}), 100))"
    spark.sql(
      "SELECT id, pmod(hash(id), 7) AS k, pmod(hash(id, 1), 100) AS t, pmod(hash(id, 2), 100) AS u " +
        "FROM range(0, 200, 1, 2)").createOrReplaceTempView("f")
    spark.sql(
      s"""SELECT id, IF(id % 10 = 0, NULL, pmod(hash(id, 3), 7)) AS k, ${value(4)} AS a, ${value(
          6)} AS b,
        ${value(8)} AS c FROM range(0, 90, 1, 2) WHERE $where""").createOrReplaceTempView("d")
  }

  /** Joins by ranges, with all columns: joins that read others of a side share nothing. */
  private def union(joins: (String, String)*): DataFrame = spark.sql(joins.map {
    case (joinType @ ("LEFT SEMI" | "LEFT ANTI"), on) =>
      s"SELECT f.*, 0L, 0, 0, 0, 0 FROM f $joinType JOIN (SELECT id, k, a, b, c, id + 1 FROM d) d ON $on AND $ReadsAll"
    case (joinType, on) =>
      s"SELECT /*+ BROADCAST(d) */ f.*, d.* FROM f $joinType JOIN d ON $on AND $ReadsAll"
  }.mkString(" UNION ALL "))

  private val ReadsAll = "coalesce(d.a, d.b, d.c, d.k, d.id + f.u) >= 0"
  private val Keyed = "d.k = f.k AND "

  private val Ranges = Seq(
    "d.a BETWEEN f.t - 10 AND f.t",
    "d.a > f.t",
    "f.t BETWEEN d.a AND d.b",
    "d.c < f.u",
    "f.t < d.b",
    "string(d.a) >= string(f.t) AND string(d.a) <= string(f.u)",
    "abs(d.c - f.t) <= 3"
  )

  /** Runs a query, whose range joins share one broadcast unless said otherwise. */
  private def check(
      query: => DataFrame,
      joins: Int,
      engines: Seq[Settings] = bothEngines,
      broadcasts: Int = 1): Unit = {
    val wanted = expected(query)
    assert(wanted.nonEmpty)
    for (engine <- engines) withConf(engine: _*) {
      val df = query
      assertSameRows(rows(df), wanted, s"$engine\n${executedPlan(df)}")
      assert(broadcastJoins(df).size == joins, executedPlan(df))
      assert(made(df) == broadcasts, executedPlan(df))
    }
  }

  private def made(df: DataFrame): Int =
    nodes[RangeIndexExchangeExec](df).map(System.identityHashCode).distinct.size

  for ((keys, key) <- Seq("keys" -> Keyed, "no keys" -> ""); smallest <- Seq("0", "4"))
    test(s"other ranges, rows with NULL in those of the first: $keys, groups from $smallest rows") {
      views()
      withConf(InternalConf.LinearScanThreshold.key -> smallest) {
        val types = Seq("INNER", "LEFT", "LEFT SEMI", "INNER", "LEFT ANTI", "INNER", "LEFT")
        for (turn <- oneIn(2)(Ranges.indices by 3)) {
          val turned = Ranges.drop(turn) ++ Ranges.take(turn)
          check(union(types.zip(turned.map(key + _)): _*), Ranges.size, nextEngine)
        }
      }
    }

  test("few rows a key are looked up in the index of the first join, whatever the bounds") {
    views()
    // No NULL in a bound, and up to 4 rows a key; then 5, and then a NULL.
    val few =
      "SELECT id, id % 23 AS k, pmod(hash(id), 50) AS a, 60 + id % 7 AS b, pmod(hash(id, 1), 90) AS c"
    for ((source, made) <- Seq(
        s"$few FROM range(0, 92, 1, 2)" -> 0,
        s"$few FROM range(0, 93, 1, 2)" -> 2,
        s"$few FROM range(0, 80, 1, 2) UNION ALL SELECT 99L, 1L, NULL, 60L, 50" -> 2)) {
      spark.sql(source).createOrReplaceTempView("d")
      def query = union(
        "INNER" -> s"${Keyed}d.a BETWEEN f.t - 40 AND f.t",
        "LEFT" -> s"${Keyed}f.t BETWEEN d.a AND d.b",
        "INNER" -> s"${Keyed}d.c < f.u")
      val wanted = expected(query)
      for (adaptive <- Seq("true", "false")) withConf("spark.sql.adaptive.enabled" -> adaptive) {
        val df = query
        assertSameRows(rows(df), wanted, s"$source\n${executedPlan(df)}")
        val exchanges = broadcastJoins(df).map(j => RangeIndexExchangeExec.below(j.buildPlan))
        assert(exchanges.map(_.madeForOthers).max == made, s"$source\n${executedPlan(df)}")
      }
    }
  }

  test("rows that are shown without a match, those of NULL among them") {
    views()
    // Stock broadcasts the preserved side, which is the one whose size is known to be small.
    def query = spark.sql(Ranges.take(4).zip(Seq("LEFT", "FULL", "LEFT", "INNER")).map {
      case (on, joinType) =>
        s"SELECT /*+ BROADCAST(d) */ d.*, f.* FROM d $joinType JOIN f ON $on"
    }.mkString(" UNION ALL "))
    check(query, joins = 4)
  }

  test("each join has an index of the rows that can match, and says so") {
    views()
    withAdaptive { on =>
      val df = union("INNER" -> s"$Keyed${Ranges.head}", "INNER" -> s"$Keyed${Ranges(2)}")
      rows(df)
      def rowsOf(where: String) =
        spark.sql(s"SELECT * FROM d WHERE k IS NOT NULL AND $where").count()
      val indexed = Seq(rowsOf("a IS NOT NULL"), rowsOf("a IS NOT NULL AND b IS NOT NULL"))
      assert(indexed.distinct.size == 2)
      val joins = broadcastJoins(df)
      assert(
        joins.map(_.metrics("indexRows").value).sorted == indexed.sorted,
        s"$indexed, adaptive: $on")
      assert(nodes[ReusedExchangeExec](df).size == 1, executedPlan(df))
      // As what adaptive execution looks at.
      val found = joins.map(j => RangeIndexExchangeExec.below(j.buildPlan).indexFor(j.mode).value)
      assert(found.map(_.size.toLong).sorted == indexed.sorted)
    }
  }

  test("an index is made once for each set of bounds, in any number of threads") {
    views()
    withConf(adaptive(false)) {
      val df = union(Ranges.take(3).map(range => "INNER" -> s"$Keyed$range"): _*)
      val joins = broadcastJoins(df)
      val exchange = RangeIndexExchangeExec.below(joins.head.buildPlan)
      val pool = Executors.newFixedThreadPool(8)
      try {
        val asked = (0 until 48).map { i =>
          pool.submit(new Callable[(Int, Long)] {
            override def call(): (Int, Long) = (i % 3, exchange.indexFor(joins(i % 3).mode).id)
          })
        }
        val found = asked.map(_.get).distinct
        assert(found.size == 3 && found.map(_._2).distinct.size == 3)
      } finally pool.shutdown()
      assertSameRows(
        rows(df),
        expected(union(Ranges.take(3).map(range => "INNER" -> s"$Keyed$range"): _*)),
        executedPlan(df).toString)
    }
  }

  test("rows whose keys are all NULL are rows, for a key of a streamed row that raises") {
    views("id % 10 = 0")
    def query = union(
      "INNER" -> "d.k = 10 DIV (f.t + 1) AND d.a < f.t",
      "INNER" -> "d.k = 10 DIV f.t AND d.a > f.t")
    spark.sql(
      "SELECT id, k, t, u FROM f UNION ALL SELECT -1L, 0, 0, 0").createOrReplaceTempView("f")
    for (engine <- bothEngines) withConf(engine: _*)(ansi(on = true) {
      val wanted = withConf(Flag -> "false")(outcome(query))
      assert(wanted.isLeft)
      val df = query
      assert(broadcastJoins(df).size == 2, executedPlan(df))
      assert(outcome(df) == wanted, executedPlan(df))
    })
  }

  test("what tasks compute for bounds is shared where it is the same") {
    views()
    spark.udf.register("same", udf((x: Int) => x))
    spark.udf.register("next", udf((x: Int) => x + 1))
    val of = s"${Keyed}same(d.a) >= f.t - 10 AND same(d.a) <= f.t"
    check(union("INNER" -> of, "LEFT" -> s"${Keyed}same(d.a) > f.t"), joins = 2)
    check(union("INNER" -> of, "LEFT" -> s"${Keyed}next(d.a) > f.t"), joins = 2, broadcasts = 2)
    check(union("INNER" -> of, "LEFT" -> s"${Keyed}d.a > f.t"), joins = 2, broadcasts = 2)
  }

  test("best matches and aggregates of matches by other ranges than the first") {
    views()
    def ranked(on: String, order: String) =
      s"""SELECT id, a FROM (SELECT /*+ BROADCAST(d) */ f.id, d.a,
        row_number() OVER (PARTITION BY f.id ORDER BY $order) AS n FROM f JOIN d ON $Keyed$on) WHERE n = 1"""
    def counted(on: String) =
      s"SELECT /*+ BROADCAST(d) */ f.id, count(*) FROM f JOIN d ON $Keyed$on AND d.a > 0 GROUP BY f.id"
    check(
      spark.sql(s"${ranked("d.a < f.t", "d.a DESC")} UNION ALL ${ranked("d.a > f.t", "d.a")}"),
      joins = 2)
    check(
      spark.sql(s"${counted("d.a < f.t")} UNION ALL ${counted("d.a BETWEEN f.t AND f.t + 20")}"),
      joins = 2)
  }

  test("a finished broadcast of other bounds is planned again with the rest of the query") {
    views()
    val conf = Seq(
      Threshold -> "-1",
      SQLConf.LEAF_NODE_DEFAULT_PARALLELISM.key -> "2",
      SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB")
    def query = {
      val joined = union("INNER" -> s"$Keyed${Ranges.head}", "LEFT" -> s"$Keyed${Ranges(4)}")
        .toDF("id", "k", "t", "u", "did", "dk", "a", "b", "c")
      joined.join(table(90, 6).select("id"), "id")
    }
    for (engine <- AdaptiveEngines) check(query, joins = 2, Seq(engine ++ conf))
  }
}
