// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.collection.mutable

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.{
  BaseSubqueryExec,
  LeafExecNode,
  ReusedSubqueryExec,
  SparkPlan
}
import org.apache.spark.sql.functions.udf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.sql.rangejoin.partitioning.RangeBucketExec

/** What Spark computes once for a query, it computes once with range joins in it. */
class ReuseSuite extends RangeJoinTest {
  import ReuseSuite._

  /** Every shape with a broadcast, and with sorted or hashed sides, one of both with adaptive execution. */
  private val cases = for {
    ((name, query), i) <- Shapes.zipWithIndex
    isBroadcast = (i + i / 4) % 2 == 1
    (form, adaptive) <- Seq(
      "broadcast" -> isBroadcast,
      (if (i % 4 == 0) "hashed" else "sorted") -> !isBroadcast).sortBy(!_._2)
    if !Exceptions.contains(name -> form) && (hasCorrelatedLimits || name != "LATERAL")
  } yield (
    s"$name, $form, adaptive: $adaptive",
    query,
    Forms(form) :+ this.adaptive(adaptive))

  private def adaptive(on: Boolean): (String, String) =
    SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> on.toString

  testOfCases("no more is computed than without range joins", 24)(cases) { cases =>
    tables()
    assertNoMore(cases)
  }

  test("no more is computed of buckets, partitions and cached rows") {
    tables()
    try {
      for ((name, table, columns) <- Seq(("f", "reuse_f", "k, t"), ("d", "reuse_d", "k, a")))
        spark.sql(s"""CREATE TABLE $table USING parquet CLUSTERED BY (k) SORTED BY ($columns)
          INTO 3 BUCKETS AS SELECT * FROM $name""")
      spark.sql(
        "CREATE TABLE reuse_p USING parquet PARTITIONED BY (k) AS SELECT id, t, u, k FROM f")
      spark.sql("CACHE TABLE cached_d AS SELECT * FROM d")
      val queries = for {
        (f, d) <- Seq("reuse_f" -> "reuse_d", "reuse_p" -> "d", "f" -> "cached_d")
        form <- Seq("broadcast", "sorted")
      } yield {
        val query = union(Seq(Band, Later).map(on =>
          s"SELECT f.id, d.id FROM $f f JOIN $d d ON $on WHERE d.c < 4"): _*)
        (s"$f, $d, $form", query, Forms(form) :+ adaptive(form.hashCode % 2 == f.hashCode % 2))
      }
      assertNoMore(queries)
    } finally {
      spark.sql("UNCACHE TABLE IF EXISTS cached_d")
      Seq("reuse_f", "reuse_d", "reuse_p").foreach(t => spark.sql(s"DROP TABLE IF EXISTS $t"))
    }
  }

  private def assertNoMore(cases: Seq[(String, String, Settings)]): Unit = {
    val expected = mutable.Map.empty[String, Seq[String]]
    val found = for ((name, query, settings) <- cases) yield withConf(settings: _*) {
      val stock = withConf(Flag -> "false") {
        val df = spark.sql(query)
        // Without adaptive execution the plan says all before it runs, and the rows may be known.
        if (settings.contains(adaptive(true)) || !expected.contains(query))
          expected(query) = rows(df)
        assert(nodes[RangeJoinExec](df).isEmpty, name)
        workOf(df)
      }
      val df = spark.sql(query)
      assertSameRows(rows(df), expected(query), s"$name\n${executedPlan(df)}")
      val ours = workOf(df)
      if (nodes[RangeJoinExec](df).isEmpty) Some(s"$name: no range join")
      else if (ours.isWithin(stock.copy(exchanges = stock.exchanges + bucketed(df)))) None
      else Some(s"$name: $ours, stock $stock\n${executedPlan(df)}")
    }
    assert(found.flatten.isEmpty, found.flatten.mkString("\n"))
  }

  /** Shuffles by range buckets, in the place of a product without any. */
  private def bucketed(df: DataFrame): Int =
    nodes[ShuffleExchangeLike](df).count(RangeBucketExec.below(_).isDefined)

  private def workOf(df: DataFrame): Work = {
    val all = nodes[SparkPlan](df)
    def count(which: PartialFunction[SparkPlan, SparkPlan]): Int =
      all.collect(which).map(System.identityHashCode).distinct.size
    Work(
      count { case exchange: Exchange => exchange },
      count { case leaf: LeafExecNode if !isReference(leaf) => leaf },
      count { case subquery: BaseSubqueryExec if !isReference(subquery) => subquery }
    )
  }

  private def isReference(plan: SparkPlan): Boolean = plan match {
    case _: ReusedExchangeExec | _: ReusedSubqueryExec | _: QueryStageExec |
        _: AdaptiveSparkPlanExec => true
    case _ => false
  }

  private def tables(): Unit = {
    spark.udf.register("same", udf((x: Long) => x))
    // `f` is large; `d` and `g` have to be shuffled, or sorted, to be computed.
    spark.sql("""SELECT id, pmod(hash(id), 20) AS k, pmod(hash(id, 1), 100) AS t,
        pmod(hash(id, 2), 50) AS u, string(pmod(hash(id, 1), 100)) AS s FROM range(0, 600, 1, 2)""")
      .createOrReplaceTempView("f")
    spark.sql("""SELECT pmod(id, 90) AS id, max(pmod(hash(id, 3), 20)) AS k, max(pmod(hash(id, 4), 100)) AS a,
        max(pmod(hash(id, 4), 100) + pmod(hash(id, 5), 15)) AS b, max(pmod(hash(id, 6), 50)) AS c,
        max(IF(id % 9 < 2, NULL, pmod(hash(id, 7), 100))) AS n FROM range(0, 180, 1, 2) GROUP BY 1""")
      .createOrReplaceTempView("d")
    spark.sql("SELECT k, t, count(*) AS c FROM f GROUP BY k, t").createOrReplaceTempView("g")
  }
}

object ReuseSuite {

  /** What a query has computed. */
  private case class Work(exchanges: Int, scans: Int, subqueries: Int) {
    def isWithin(other: Work): Boolean =
      exchanges <= other.exchanges && scans <= other.scans && subqueries <= other.subqueries
  }

  private val Threshold = SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key

  private val Forms: Map[String, Settings] = Map(
    "broadcast" -> Seq(Threshold -> "12KB"),
    "sorted" -> Seq(Threshold -> "-1"),
    "hashed" -> Seq(Threshold -> "-1", SQLConf.PREFER_SORTMERGEJOIN.key -> "false")
  )

  private val Band = "d.k = f.k AND d.a BETWEEN f.t - 10 AND f.t"
  private val Later = "d.k = f.k AND d.a > f.t"
  private val Earlier = "d.k = f.k AND d.a < f.t"
  private val Within = "d.k = f.k AND f.t BETWEEN d.a AND d.b"

  private def union(parts: String*): String = parts.mkString(" UNION ALL ")

  private def inner(on: String*): String =
    union(on.map(range => s"SELECT f.id, d.id FROM f JOIN d ON $range"): _*)

  private val Shapes: Seq[(String, String)] = Seq(
    "three ranges" -> union(
      s"SELECT f.id, d.a FROM f JOIN d ON $Band",
      s"SELECT f.id, d.a FROM f JOIN d ON $Later",
      s"SELECT f.id, f.t FROM f LEFT SEMI JOIN d ON $Earlier"),
    "five ranges of intervals" -> inner(
      Within,
      "d.k = f.k AND f.t > d.b",
      "d.k = f.k AND f.t < d.a",
      "d.k = f.k AND f.t BETWEEN d.a - 3 AND d.b + 3",
      "d.k = f.k AND f.u BETWEEN d.a AND d.b"),
    "a range and a wider one" -> inner(Band, "d.k = f.k AND d.a BETWEEN f.t - 20 AND f.t + 1"),
    "ranges of two columns" -> inner(Band, "d.k = f.k AND d.c BETWEEN f.u - 5 AND f.u"),
    "NULL in a range" -> union(
      s"SELECT f.id, d.id FROM f JOIN d ON d.k = f.k AND d.n BETWEEN f.t - 10 AND f.t",
      s"SELECT f.id, d.id FROM f LEFT JOIN d ON $Band"),
    "every type of join" -> union(
      s"SELECT f.id, d.id FROM f LEFT JOIN d ON $Band",
      s"SELECT f.id, d.id FROM d RIGHT JOIN f ON $Later",
      s"SELECT f.id, 0 FROM f LEFT ANTI JOIN d ON $Earlier",
      s"SELECT f.id, 1 FROM f LEFT SEMI JOIN d ON $Within"
    ),
    "full outer joins" -> union(
      s"SELECT f.id, d.id FROM f FULL JOIN d ON $Band",
      s"SELECT f.id, d.id FROM f FULL JOIN d ON $Later"),
    "EXISTS and NOT EXISTS" -> s"""SELECT f.id FROM f WHERE EXISTS (SELECT 1 FROM d WHERE $Band)
      AND NOT EXISTS (SELECT 1 FROM d WHERE $Later)""",
    "EXISTS or EXISTS" -> s"""SELECT f.id FROM f WHERE EXISTS (SELECT 1 FROM d WHERE $Band)
      OR EXISTS (SELECT 1 FROM d WHERE $Later)""",
    "EXISTS in EXISTS" -> s"""SELECT f.id FROM f WHERE EXISTS (SELECT 1 FROM d WHERE $Band AND
      EXISTS (SELECT 1 FROM d e WHERE e.k = d.k AND e.a BETWEEN d.a - 1 AND d.a + 1 AND e.id <> d.id))""",
    "IN" -> s"""SELECT f.id FROM f WHERE f.k IN (SELECT d.k FROM d WHERE d.a BETWEEN f.t - 10 AND f.t)
      AND f.k IN (SELECT d.k FROM d WHERE d.a > f.t)""",
    "scalar subqueries" -> s"""SELECT f.id, (SELECT count(*) FROM d WHERE $Band),
      (SELECT max(d.b) FROM d WHERE $Later) FROM f""",
    "two joins of one side" ->
      s"SELECT f.id, d.id, e.id FROM f LEFT JOIN d ON $Band LEFT JOIN d e ON e.k = f.k AND e.a = f.t + 1",
    "three joins of one side" ->
      s"""SELECT f.id, d.id, e.id, h.id FROM f JOIN d ON $Band
        JOIN d e ON e.k = f.k AND e.a BETWEEN f.t - 3 AND f.t
        JOIN d h ON h.k = f.k AND h.a BETWEEN f.t AND f.t + 4""",
    "self joins" -> union(
      "SELECT d.id, e.id FROM d JOIN d e ON d.k = e.k AND d.a BETWEEN e.a - 5 AND e.a",
      "SELECT d.id, e.id FROM d JOIN d e ON d.k = e.k AND d.a > e.a + 20"
    ),
    "overlaps" -> union(
      "SELECT d.id, e.id FROM d JOIN d e ON d.k = e.k AND d.a <= e.b AND e.a <= d.b",
      "SELECT d.id, e.id FROM d JOIN d e ON d.k = e.k AND d.a BETWEEN e.a - 5 AND e.a"
    ),
    "a CTE read twice" -> s"""WITH d AS (SELECT k, a, count(*) AS n FROM d GROUP BY k, a)
      SELECT f.id, d.n FROM f JOIN d ON $Band UNION ALL SELECT f.id, d.n FROM f JOIN d ON $Later""",
    "a CTE of a join" -> s"""WITH j AS (SELECT f.id, f.k, f.t, d.a FROM f JOIN d ON $Band)
      SELECT count(*), sum(a) FROM j UNION ALL SELECT count(*), sum(t) FROM j WHERE a % 2 = 0""",
    "a window below" -> {
      val d = "(SELECT id, k, a, row_number() OVER (PARTITION BY k ORDER BY a, id) AS n FROM d) d"
      union(
        s"SELECT f.id, d.n FROM f JOIN $d ON $Band",
        s"SELECT f.id, d.n FROM f JOIN $d ON $Later")
    },
    "the same side filtered" -> union(
      s"SELECT f.id, d.id FROM f JOIN (SELECT * FROM d WHERE c > 5) d ON $Band",
      s"SELECT f.id, d.id FROM f JOIN (SELECT * FROM d WHERE c > 5) d ON $Later"
    ),
    "a limit of one range" -> union(
      s"SELECT f.id, d.id FROM f JOIN d ON $Band WHERE f.t >= 50",
      s"SELECT f.id, d.id FROM f JOIN d ON $Later"),
    "a limit of both ranges" -> union(
      s"SELECT f.id, d.id FROM f JOIN d ON $Band WHERE f.t >= 50",
      s"SELECT f.id, d.id FROM f JOIN d ON d.k = f.k AND d.a BETWEEN f.t - 20 AND f.t WHERE f.t >= 50"
    ),
    "two limits" -> union(
      s"SELECT f.id, d.id FROM f JOIN d ON $Band WHERE f.t >= 50",
      s"SELECT f.id, d.id FROM f JOIN d ON $Within WHERE f.t < 30"),
    "a limit and EXISTS" -> s"""SELECT f.id FROM f JOIN d ON $Band WHERE f.t > 40
      AND EXISTS (SELECT 1 FROM d WHERE $Later)""",
    "a limit of the costly side" -> union(
      s"SELECT f.id, d.id FROM f JOIN d ON $Band WHERE d.a < 60",
      s"SELECT f.id, d.id FROM f JOIN d ON $Later WHERE d.a < 60"),
    "two costly sides" -> union(
      "SELECT g.c, d.id FROM g JOIN d ON d.k = g.k AND d.a BETWEEN g.t - 10 AND g.t",
      "SELECT g.c, d.id FROM g JOIN d ON d.k = g.k AND d.a > g.t"),
    "costly sides limited" -> union(
      "SELECT g.c, d.id FROM g JOIN d ON d.k = g.k AND d.a BETWEEN g.t - 10 AND g.t WHERE g.t > 30",
      "SELECT g.c, d.id FROM g JOIN d ON d.k = g.k AND d.a > g.t"
    ),
    "two keys" -> inner(
      "d.k = f.k AND d.c = f.u AND d.a BETWEEN f.t - 50 AND f.t",
      "d.k = f.k AND d.c = f.u AND d.a > f.t"),
    "computed keys" -> inner(
      "d.k + 1 = f.k + 1 AND d.a BETWEEN f.t - 10 AND f.t",
      "d.k + 1 = f.k + 1 AND d.a > f.t"),
    "keys that may be NULL" -> inner(
      "d.n = f.u AND d.a BETWEEN f.t - 10 AND f.t",
      "d.n = f.u AND d.a > f.t"),
    "no keys" -> inner("d.a BETWEEN f.t - 1 AND f.t", "d.a BETWEEN f.u AND f.u + 1"),
    "no keys, LEFT and EXISTS" -> union(
      "SELECT f.id, d.id FROM f LEFT JOIN d ON d.a BETWEEN f.t - 1 AND f.t",
      "SELECT f.id, 0 FROM f WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.n BETWEEN f.u AND f.u + 1)"
    ),
    "no keys, the small side preserved" -> union(
      "SELECT d.id, f.id FROM d LEFT JOIN f ON d.a BETWEEN f.t - 1 AND f.t",
      "SELECT d.id, 0 FROM d LEFT ANTI JOIN f ON d.n BETWEEN f.u AND f.u + 1"),
    "boxes" -> inner(
      s"$Within AND f.u BETWEEN d.c - 5 AND d.c + 5",
      s"$Within AND f.u BETWEEN d.c - 1 AND d.c + 9",
      Within),
    "text" -> inner(
      "d.k = f.k AND f.s BETWEEN string(d.a) AND string(d.b)",
      "d.k = f.k AND f.s > string(d.a)"),
    "dates" -> inner(
      "d.k = f.k AND date_add(DATE'2024-01-01', int(f.t)) BETWEEN date_add(DATE'2024-01-01', int(d.a)) AND date_add(DATE'2024-01-01', int(d.b))",
      "d.k = f.k AND date_add(DATE'2024-01-01', int(f.t)) > date_add(DATE'2024-01-01', int(d.b))"
    ),
    "functions of a user" -> inner(
      "d.k = f.k AND same(d.a) BETWEEN f.t - 10 AND f.t",
      "d.k = f.k AND same(d.a) > f.t"),
    "residuals" -> inner(s"$Band AND d.c + f.u > 40", s"$Later AND d.c + f.u < 20"),
    "a subquery in residuals" -> inner(
      s"$Band AND d.c + f.u > (SELECT avg(c) FROM d)",
      s"$Later AND d.c + f.u < (SELECT avg(c) FROM d)"),
    "a subquery in bounds" -> inner(
      "d.k = f.k AND d.a BETWEEN f.t - (SELECT min(c) + 5 FROM d) AND f.t",
      "d.k = f.k AND d.a > f.t + (SELECT min(c) + 5 FROM d)"),
    "a join in subqueries" -> s"""SELECT f.id, (SELECT count(*) FROM f JOIN d ON $Band) AS n FROM f
      WHERE f.t > (SELECT count(*) FROM f JOIN d ON $Band) - 5000""",
    "ranges in subqueries" -> s"""SELECT (SELECT count(*) FROM f JOIN d ON $Band),
      (SELECT count(*) FROM f JOIN d ON $Later)""",
    "HAVING" -> s"""SELECT f.k, count(*) FROM f JOIN d ON $Band GROUP BY f.k
      HAVING count(*) > (SELECT count(*) / 100 FROM f JOIN d ON $Later)""",
    "aggregates of matches" -> union(
      s"SELECT f.id, count(*), sum(d.c) FROM f JOIN d ON $Band GROUP BY f.id",
      s"SELECT f.id, count(*), sum(d.c) FROM f JOIN d ON $Later GROUP BY f.id"),
    "best matches" -> {
      def ranked(on: String, order: String) =
        s"""SELECT id, a FROM (SELECT f.id, d.a,
          row_number() OVER (PARTITION BY f.id ORDER BY $order) AS n FROM f JOIN d ON $on) WHERE n = 1"""
      union(ranked(Earlier, "d.a DESC"), ranked(Later, "d.a"))
    },
    "LATERAL" -> union(
      """SELECT f.id, x.a FROM f, LATERAL (SELECT d.a FROM d WHERE d.k = f.k AND d.a <= f.t
        ORDER BY d.a DESC LIMIT 1) x""",
      """SELECT f.id, x.a FROM f, LATERAL (SELECT d.a FROM d WHERE d.k = f.k AND d.a > f.t
        ORDER BY d.a LIMIT 1) x"""
    ),
    "a join above" -> s"""SELECT j.id, d.id FROM (SELECT f.id, f.k, f.t, count(*) AS n FROM f
      JOIN d ON $Band GROUP BY 1, 2, 3) j JOIN d ON d.k = j.k AND d.a > j.t""",
    "DISTINCT and UNION" -> union(
      s"SELECT DISTINCT f.k, d.k FROM f JOIN d ON $Band",
      s"SELECT DISTINCT f.k, d.k FROM f JOIN d ON $Later"),
    "the same join twice" -> union(
      s"SELECT f.k, count(*) FROM f JOIN d ON $Band GROUP BY f.k",
      s"SELECT f.k, count(*) FROM f JOIN d ON $Band GROUP BY f.k"),
    "a hash join beside" -> union(
      s"SELECT f.id, d.id FROM f JOIN d ON $Band",
      "SELECT f.id, d.id FROM f JOIN d ON d.k = f.k AND d.c <> f.u"),
    "ORDER BY and LIMIT" -> union(
      s"(SELECT f.id, d.id FROM f JOIN d ON $Band ORDER BY 1, 2 LIMIT 5)",
      s"(SELECT f.id, d.id FROM f JOIN d ON $Later ORDER BY 1, 2 LIMIT 5)")
  )

  /** What is computed once more, by the name of a shape and its form. */
  private val Exceptions: Map[(String, String), String] = Map(
    ("a hash join beside" -> "broadcast") -> "an index is no hashed relation, so that there are two broadcasts"
  )
}
