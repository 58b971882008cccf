// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import java.nio.file.Files

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.rangejoin.condition.Predicates
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.explain.JoinReports

import org.scalatest.tagobjects.Slow

/** Limits of the range column of one side are set to the other side, too, where rows stay the same. */
class InferRangeFiltersSuite extends LimitedSides {

  private val Infer = RangeJoinConf.InferFilters.key

  /** Conjuncts of filters below the uppermost join, of its left and its right side. */
  private def filters(df: DataFrame): (Set[String], Set[String]) = {
    def of(side: LogicalPlan) = side.collect { case filter: Filter =>
      Predicates.split(filter.condition)
    }
      .flatten.map(_.sql.replaceAll("[()]|^implied", "")).toSet
    execution(df).optimizedPlan
      .collectFirst { case join: Join => (of(join.left), of(join.right)) }.get
  }

  private val Within = "l.t BETWEEN r.s AND r.e"

  /** Checks which join types filter a side, and that all have stock's rows. */
  private def checkJoins(
      left: String,
      right: String,
      on: String,
      filtered: ((Set[String], Set[String])) => Set[String],
      expected: Set[String],
      by: Set[String]): Unit = {
    val joins =
      Seq("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
    val run = oneIn(4)(joins)
    for (join <- joins) {
      def query = spark.sql(s"SELECT * FROM $left $join $right ON $on")
      val df = query
      val found = filtered(filters(df))
      val inferred = if (by.contains(join)) expected else Set.empty
      assert(found.intersect(expected) == inferred, s"$join $found")
      if (run.contains(join)) assertAsStock(df, query)
    }
  }

  for (key <- Seq("l.k = r.k AND ", "")) {
    val name = if (key.isEmpty) "without a key" else "with a key"

    test(s"limits of the left side, $name") {
      views()
      checkJoins(
        "(SELECT * FROM l WHERE t >= 100 AND t < 140) l",
        "r",
        key + Within,
        filtered = _._2,
        expected = Set("r.e >= 100", "r.s <= 140"),
        by = Set("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
      )
    }

    test(s"limits of the right side, $name") {
      views()
      checkJoins(
        "l",
        "(SELECT * FROM r WHERE s > 100 AND e <= 150) r",
        key + Within,
        filtered = _._1,
        expected = Set("l.t >= 100", "l.t <= 150"),
        by = Set("JOIN", "RIGHT JOIN", "LEFT SEMI JOIN")
      )
    }
  }

  test("limits go on through months, of which the last days become one day", Slow) {
    for (name <- Seq("l", "r")) {
      val days = spark.range(400).selectExpr("id", "date_add(DATE'2024-01-01', int(id)) AS t")
      spark.createDataFrame(days.rdd, days.schema).createOrReplaceTempView(name)
    }
    for ((limit, on, implied) <- Seq(
        (
          "t >= DATE'2024-05-29'",
          "l.t BETWEEN r.t AND add_months(r.t, 3)",
          "r.t >= DATE '2024-02-29'"),
        (
          "t >= DATE'2024-05-30'",
          "l.t BETWEEN r.t AND add_months(r.t, 3)",
          "r.t >= DATE '2024-03-01'"),
        (
          "t <= DATE'2024-02-29'",
          "l.t BETWEEN add_months(r.t, -1) AND r.t",
          "r.t <= DATE '2024-03-31'")
      )) {
      checkJoins(
        s"(SELECT * FROM l WHERE $limit) l",
        "r",
        on,
        filtered = _._2,
        expected = Set(implied),
        by = Set("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"))
    }
  }

  for (open <- Seq(
      "r.e IS NULL OR l.t < r.e",
      "l.t < r.e OR isnull(r.e)",
      "IF(r.e IS NULL, true, l.t < r.e)"))
    test(
      s"no limit goes on to an end that may be open, or comes from one: $open",
      slowIf(!open.startsWith("r.e IS NULL")): _*) {
      views()
      val on = s"l.k = r.k AND l.t >= r.s AND ($open)"
      val (points, ends) = ("(SELECT * FROM l WHERE t >= 100 AND t < 140) l", "(SELECT * FROM o) r")
      checkJoins(
        points,
        ends,
        on,
        filtered = _._2,
        expected = Set("r.s <= 140"),
        by = Set("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
      )
      checkJoins(
        "l",
        "(SELECT * FROM o WHERE s > 100 AND (e <= 150 OR e IS NULL)) r",
        on,
        filtered = _._1,
        expected = Set("l.t >= 100"),
        by = Set("JOIN", "RIGHT JOIN", "LEFT SEMI JOIN")
      )
      def query = spark.sql(s"SELECT l.id, r.id, r.e FROM $points JOIN $ends ON $on")
      val (_, right) = filters(query)
      assert(right.forall(!_.contains("r.e")), right)
      val range = only(JoinReports.of(executedPlan(query))).range
      assert(rangeJoins(query).size == 1 && range.exists(_.references.exists(_.name == "e")), range)
      assert(checkAgainstStock(query) > checkAgainstStock(query.where("r.e IS NOT NULL")))
    }

  test("a band, where arithmetic raises at the ends of the type") {
    views()
    ansi(on = true) {
      def query(limits: String) = spark.sql(
        s"SELECT * FROM l JOIN r ON l.k = r.k AND r.s BETWEEN l.t - 7 AND l.t + 7 WHERE $limits")
      assert(filters(query("l.t BETWEEN 100 AND 120"))._2.intersect(
        Set("r.s >= 93", "r.s <= 127")).size == 2)
      assert(filters(query("l.t = 100"))._2.intersect(Set("r.s >= 93", "r.s <= 107")).size == 2)
      assert(filters(query("r.s >= 100 AND r.s <= 101"))._1.intersect(
        Set("l.t >= 93", "l.t <= 108")).size == 2)
      for (limits <-
          Seq("l.t BETWEEN 100 AND 120", "l.t = 100", "r.s < 9", "l.t > 400 AND r.s < 420"))
        checkAgainstStock(query(limits))
    }
  }

  test("an EXISTS is no join yet where filters are inferred") {
    views()
    def query = spark.sql(s"""SELECT id FROM (SELECT * FROM l WHERE t < 50) l
      WHERE EXISTS (SELECT 1 FROM r WHERE l.k = r.k AND $Within)""")
    assert(!filters(query)._2.contains("r.s <= 50"))
    checkAgainstStock(query)
  }

  test("from one join to the next") {
    views()
    def query = spark.sql(s"""SELECT * FROM l JOIN r ON l.k = r.k AND $Within
      JOIN l m ON m.k = r.k AND m.t BETWEEN r.s AND r.e WHERE m.t BETWEEN 200 AND 230""")
    val all = execution(query).optimizedPlan.collect { case f: Filter => f.condition.sql }.mkString
    assert(all.contains("e >= 200") && all.contains("s <= 230"), all)
    assertSameRows(rows(query), rowsOfStock(query), "")
  }

  test("limits go on from the other side, but not without an end") {
    views()
    ansi(on = true) {
      def query(range: String) = spark.sql(
        s"SELECT * FROM l JOIN r ON l.k = r.k AND l.t $range WHERE r.s >= 100 AND r.e <= 300")
      val (left, right) = filters(query("BETWEEN r.s AND r.e"))
      assert(Set("l.t >= 100", "l.t <= 300").subsetOf(left))
      assert(Set("r.s <= 300", "r.e >= 100").subsetOf(right))
      checkAgainstStock(query("BETWEEN r.s AND r.e"))
      // Nothing is greater than itself: each limit makes the other one tighter.
      val (none, _) = filters(query("BETWEEN r.s + 5 AND r.s - 5"))
      assert(!none.exists(_.contains(">= 1")), none)
      checkAgainstStock(query("BETWEEN r.s + 5 AND r.s - 5"))
    }
  }

  test("nothing where it is switched off, of other types, or where both sides have their limits") {
    views()
    def query = spark.sql(s"SELECT * FROM l JOIN r ON l.k = r.k AND $Within WHERE l.t >= 100")
    assert(filters(query)._2.contains("r.e >= 100"))
    for (off <- Seq(Infer, Flag)) withConf(off -> "false") {
      assert(!filters(query)._2.contains("r.e >= 100"), off)
    }
    withConf("spark.sql.constraintPropagation.enabled" -> "false") {
      assert(!filters(query)._2.contains("r.e >= 100"))
    }
    assert(!filters(query.where("r.e >= 105"))._2.contains("r.e >= 100"))
    val structs = spark.sql("""SELECT * FROM (SELECT *, named_struct('v', t) AS x FROM l) l
      JOIN (SELECT *, named_struct('v', s) AS y FROM r) r ON l.k = r.k AND x >= y
      WHERE x <= named_struct('v', 3)""")
    assert(!filters(structs)._2.exists(_.contains("3")))
  }

  test("days that are strings, as partitions are", Slow) {
    views()
    val day = "lpad(string(%s), 4, '0') AS %s"
    for ((view, columns) <- Seq("l" -> Seq("t"), "r" -> Seq("s", "e"))) {
      val rows = spark.table(view).selectExpr(
        Seq("id", "k") ++ columns.map(c => day.format(c, c)): _*)
      spark.createDataFrame(rows.rdd, rows.schema).createOrReplaceTempView(view)
    }
    val folder = Files.createTempDirectory("inferred").resolve("l").toString
    spark.table("l").repartition(1).sortWithinPartitions("t").write.parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("f")
    checkJoins(
      "(SELECT * FROM l WHERE t >= '0100' AND t < '0140') l",
      "r",
      Within,
      filtered = _._2,
      expected = Set("r.e >= '0100'", "r.s <= '0140'"),
      by = Set("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
    )
    def query = spark.sql(
      "SELECT f.id, r.id FROM f JOIN r ON f.k = r.k AND f.t BETWEEN r.s AND r.e WHERE r.s > '0200'")
    val scan = only(collect(executedPlan(query)) { case scan: FileSourceScanExec => scan })
    assert(scan.metadata("PushedFilters").contains("GreaterThanOrEqual(t,0200)") ==
      (SPARK_VERSION != "3.5.0"))
    checkAgainstStock(query)
  }

  test("strings that are no UTF-8 are no limits, since sources compare others", Slow) {
    def strings(hex: String*) =
      hex.map(x => s"(1, string(X'$x'))").mkString("VALUES ", ", ", " AS t(k, t)")
    val folder = Files.createTempDirectory("inferred").resolve("r").toString
    spark.sql(s"SELECT * FROM ${strings("F09F9880", "F09F9881")}").coalesce(1).write.parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("r")
    spark.sql(s"SELECT * FROM ${strings("F0A0", "F09F9882")}").createOrReplaceTempView("l")
    for ((limit, isInferred) <- Seq("F1" -> false, "F3A08080" -> true)) {
      def query = spark.sql("SELECT * FROM l JOIN r ON l.k = r.k AND r.t <= l.t " +
        s"WHERE l.t <= string(X'$limit')")
      assert(query.count() == 4)
      assert(query.queryExecution.optimizedPlan.toString.contains("implied") == isInferred)
      checkAgainstStock(query)
    }
  }

  test("what is computed is not computed again for its limits") {
    views()
    def query(columns: String, above: String) = spark.sql(s"""SELECT l.id, q.id FROM l
      JOIN (SELECT * FROM (SELECT id, k, $columns FROM r) $above) q
      ON l.k = q.k AND l.t BETWEEN q.a AND q.b WHERE l.t >= 100""")
    for (above <- Seq("", "DISTRIBUTE BY id")) {
      val renamed = query("s AS a, e AS b", above)
      assert(filters(renamed)._2.contains("r.e >= 100"))
      val computed = query("s AS a, e * 2 - e AS b", above)
      assert(!filters(computed)._2.exists(_.endsWith(">= 100")))
      Seq(renamed, computed).foreach(df => assert(rangeJoins(df).size == 1))
      checkAgainstStock(query("s AS a, e * 2 - e AS b", above))
      checkAgainstStock(query("s AS a, e AS b", above))
    }
  }

  test("a group that is computed is not computed again for its limits", Slow) {
    views()
    def query(column: String, group: String) = spark.sql(s"""SELECT l.id, q.* FROM l
      JOIN (SELECT k, $column AS a, max(e) AS b FROM r GROUP BY k, $group) q
      ON l.k = q.k AND l.t BETWEEN q.a AND q.b WHERE l.t BETWEEN 100 AND 180""")
    for (group <- Seq("s * 2 - s", "s")) {
      val computed = filters(query("s * 2 - s", group))._2
      assert(!computed.exists(_.endsWith("<= 180")) && computed.contains("q.b >= 100"), computed)
      checkAgainstStock(query("s * 2 - s", group))
    }
    assert(filters(query("s", "s"))._2.contains("r.s <= 180"))
  }

  test("of a union, an aggregate and an outer join", Slow) {
    views()
    val sides = Seq(
      "(SELECT * FROM r UNION ALL SELECT id, k, s + 1, e + 1 FROM r)",
      "(SELECT k, s, max(e) AS e FROM r GROUP BY k, s)",
      "(SELECT r.k, r.s, r.e FROM l x LEFT JOIN r ON x.id = r.id)",
      "(SELECT k, s, e, row_number() OVER (PARTITION BY k ORDER BY s, e) AS n FROM r)",
      "(SELECT * FROM r ORDER BY e, s, id LIMIT 90)"
    )
    for (side <- sides) {
      def query = spark.sql(s"""SELECT l.id, q.* FROM l JOIN $side q
        ON l.k = q.k AND l.t BETWEEN q.s AND q.e WHERE l.t BETWEEN 100 AND 180""")
      assert(filters(query)._2.exists(_.endsWith("s <= 180")) != side.contains("s + 1"), side)
      assertSameRows(rows(query), rowsOfStock(query), side)
    }
  }

  for (format <- Seq("parquet", "orc"))
    test(s"files of $format are left out, if trusted", slowIf(format != "parquet"): _*) {
      views()
      val folder = Files.createTempDirectory("inferred").resolve("r").toString
      spark.table("r").selectExpr("*", "decimal(s) AS c", "decimal(e) AS d", "id % 4 AS part")
        .write.partitionBy("part").format(format).save(folder)
      spark.read.format(format).load(folder).createOrReplaceTempView("f")
      for (adaptive <- Seq("true", "false")) withConf("spark.sql.adaptive.enabled" -> adaptive) {
        def query(at: String, from: String, to: String) = spark.sql(s"""SELECT l.id, f.id
          FROM l JOIN f ON l.k = f.k AND l.$at BETWEEN f.$from AND f.$to WHERE l.$at > 100""")
        def scanned(df: DataFrame) =
          only(collect(executedPlan(df)) { case scan: FileSourceScanExec => scan })
        def pushed(df: DataFrame) = scanned(df).metadata("PushedFilters")
        val trusted = format == "parquet" && SPARK_VERSION != "3.5.0"
        assert(pushed(query("t", "s", "e")).contains("GreaterThanOrEqual(e,100)") == trusted)
        // Spark cuts decimals to the width that they have in a file.
        val decimals = query("d", "c", "d")
        assert(
          !pushed(decimals).contains(",100") && filters(decimals)._2.exists(_.contains(">= 100")))
        checkAgainstStock(if (adaptive == "true") query("t", "s", "e") else query("d", "c", "d"))
        // By the partition: all of 0 and 1 is left out.
        def parts = spark.sql("""SELECT l.id, f.id FROM l JOIN f
          ON l.k = f.k AND f.part BETWEEN l.id - 1 AND l.id + 1 WHERE l.id = 3""")
        ansi(on = true) {
          assert(scanned(parts).partitionFilters.exists(_.sql.contains(">= 2")))
          val ran = parts
          ran.collect()
          assert(scanned(ran).metrics("numPartitions").value == 2)
          checkAgainstStock(parts)
        }
      }
    }
}
