// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.explain

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RightSide}
import org.apache.spark.sql.rangejoin.shims.ExplainProvider
import org.apache.spark.sql.rangejoin.{
  RangeJoinReportGenerator,
  RangeJoinSampleGenerator,
  RangeJoinTest
}

import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, parse}
import org.scalatest.tagobjects.Slow

/** What a query that has run says of its joins, and what is suggested; where joins are found. */
class AdviceSuite extends ReportsTest {

  // In two parts, so that there is a shuffle.
  override protected val table: String =
    "SELECT id, cast(id % 2 AS int) AS k, id AS y, string(timestamp_seconds(id)) AS at " +
      "FROM range(0, 100, 1, 2)"

  private def afterRun(sql: String): JoinReport = {
    val df = query(sql)
    assert(only(reports(df)).metrics.values.forall(_ == 0))
    df.collect()
    only(reports(df))
  }

  private val band = "l.k = r.k AND r.y BETWEEN l.y - 20 AND l.y + 20"

  for (engine <- RangeJoinTest.TwoEngines) {
    test(s"the rows of both sides are known once the query has run ($engine)") {
      withConf(engine: _*) {
        val sql = s"SELECT l.id, r.id FROM l JOIN r ON $band WHERE l.id < 90 AND r.id % 3 > 0"
        for (hint <- Seq("", "/*+ BROADCAST(r) */")) {
          val report = afterRun(sql.replace("SELECT", s"SELECT $hint"))
          assert((report.leftRows, report.rightRows) == (Some(90), Some(66)), hint)
        }
        val stock = withConf(Flag -> "false")(afterRun(sql))
        assert((stock.leftRows, stock.rightRows) == (Some(90), Some(66)))
        assert(stock.metrics("numOutputRows") > 0)
      }
    }
  }

  test("a residual that refuses most pairs is told, after the query has run and not before") {
    val refusing = s"SELECT l.id FROM l JOIN r ON $band AND (l.id + r.id) % 40 = 0"
    assert(reports(query(refusing)).head.advice == Nil)
    val advice = only(afterRun(refusing).advice)
    assert(
      advice.matches("the residual refuses 9\\d% of the pairs in range: turn a part .*"),
      advice)
    assert(afterRun(s"SELECT l.id FROM l JOIN r ON $band AND (l.id + r.id) % 40 > 0").advice == Nil)
    // A semi join stops at the first match: its candidates say nothing of the residual.
    assert(afterRun("SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r " +
      s"WHERE $band AND (l.id + r.id) % 40 = 0)").advice == Nil)
  }

  test("a range with one end is told, whichever it is") {
    for (one <- Seq("r.y >= l.y", "l.y > r.y", "l.y <= r.y AND l.id <= r.id")) {
      val report = only(reports(query(s"SELECT l.id FROM l JOIN r ON l.k = r.k AND $one")))
      assert(report.isOneSided && only(report.advice).startsWith("the range has one end"), one)
    }
    val report = only(reports(query(s"SELECT l.id FROM l JOIN r ON $band")))
    assert(!report.isOneSided && report.advice == Nil)
  }

  test(
    "text that is cast for every row is told, in a range and in a key, with or without a range") {
    def advice(condition: String): Seq[String] =
      only(reports(query(s"SELECT l.id FROM l JOIN r ON $condition"))).advice
    assert(advice("l.k = r.k AND to_timestamp(l.at) >= timestamp_seconds(r.y) AND " +
      "to_timestamp(l.at) < timestamp_seconds(r.id + 5)") ==
      Seq("l.at is text and is cast to TIMESTAMP: store it as TIMESTAMP"))
    assert(
      advice("l.k = CAST(r.at AS INT)") == Seq("r.at is text and is cast to INT: store it as INT"))
    assert(advice("l.at = r.at") == Nil)
    val asText =
      "and is compared as text, which has another order and is equal for other values: cast the other side"
    assert(
      advice(
        "CAST(l.k AS STRING) = r.at AND CAST(l.id AS STRING) < r.at || CAST(r.y AS STRING)").tail ==
        Seq(s"l.k is INT $asText", s"l.id is BIGINT $asText"))
  }

  test("a partition with most of the bytes is told") {
    val even = Seq.fill(8)(1L << 20)
    assert(Advice.skewedPartition(LeftSide, even).isEmpty)
    assert(Advice.skewedPartition(LeftSide, Nil).isEmpty)
    assert(Advice.skewedPartition(RightSide, even :+ (24L << 20)).get
      .startsWith("one of 9 shuffle partitions has 75% of the right side: one key has most rows"))
    assert(Advice.skewedPartition(LeftSide, Seq(1L, 1L, 1L, 9999L)).isEmpty, "too few to matter")
  }

  test("a small side that was shuffled is told, if it may be broadcast") {
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      def advice(join: String): Seq[String] = {
        val df = query(s"SELECT /*+ MERGE(r) */ l.id FROM l $join JOIN r ON $band")
        df.collect()
        withConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "1MB")(only(reports(df)).advice)
      }
      assert(advice("").map(_.split(" has only")(0)) == Seq("the left side", "the right side"))
      assert(only(advice("LEFT")).startsWith("the right side has only"))
      assert(advice("FULL") == Nil)
    }
  }

  test("a broadcast side that is larger than Spark believed is told") {
    val df = query(s"SELECT /*+ BROADCAST(r) */ l.id FROM l JOIN r ON $band")
    df.collect()
    withConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "100") {
      val advice = only(only(reports(df)).advice)
      assert(
        advice.startsWith("the right side has ") && advice.contains("run ANALYZE TABLE"),
        advice)
    }
  }

  test("joins in cached data and in a command are told with their place, once") {
    val cached = query(s"SELECT l.id, r.y FROM l JOIN r ON $band")
    cached.cache()
    try {
      val df = cached.union(cached)
      assert(reports(df).map(_.within) == Seq(Some("cached data")))
      df.collect()
      val report = only(reports(df))
      assert(report.operator == "SortMergeRangeJoin" && report.metrics("numOutputRows") > 0)
      assert(report.text.startsWith("SortMergeRangeJoin, INNER (in cached data); keys: "))
    } finally cached.unpersist(blocking = true)
    spark.sql("DROP TABLE IF EXISTS written")
    spark.sql("CREATE TABLE written (id BIGINT) USING parquet")
    try {
      val command = query(s"INSERT INTO written SELECT l.id FROM l JOIN r ON $band")
      val report = only(reports(command))
      assert(report.within.contains("a command") && report.metrics("numOutputRows") > 0)
    } finally spark.sql("DROP TABLE written")
  }

  test("a condition of any length is cut in the text, and whole in JSON") {
    val long = (1 to 400).map(i => s"l.id + r.id <> -$i").mkString(" AND ")
    val report = only(reports(query(s"SELECT l.id FROM l JOIN r ON $band AND $long")))
    assert(report.text.length < 2 * JoinReport.MaxLength && report.text.contains("…"))
    val JString(residual) = (report.json \ "residual"): @unchecked
    assert(residual.length > 10 * JoinReport.MaxLength)
  }

  test("an estimate says how many pairs there are with and without the range") {
    def sampleOf(sql: String): JValue = {
      val JArray(List(join)) =
        parse(JoinReports.jsonWithEstimates(execution(query(sql)))): @unchecked
      join \ "sample"
    }
    def number(sample: JValue, name: String): BigInt = (sample \ name: @unchecked) match {
      case JInt(n) => n
    }
    // Small sides are taken whole: the numbers are exact.
    val exact = sampleOf(s"SELECT l.id FROM l JOIN r ON $band AND (l.id + r.id) % 4 = 0")
    assert(number(exact, "leftRows") == 100 && number(exact, "keyPairs") == 2 * 50 * 50)
    val inRange = spark.sql(s"SELECT l.id FROM l JOIN r ON $band").count()
    assert(number(exact, "rangePairs") == inRange)
    assert(number(exact, "matches") ==
      spark.sql(s"SELECT l.id FROM l JOIN r ON $band AND (l.id + r.id) % 4 = 0").count())
    // A sample is not: 40,000 rows a side, 4 keys, one pair in 20 is in range.
    val wide = "(SELECT id % 4 AS k, id AS y FROM range(40000))"
    val rough = sampleOf(s"SELECT 1 FROM $wide a JOIN $wide b ON a.k = b.k AND " +
      "b.y BETWEEN a.y - 1000 AND a.y + 1000")
    val pairs = 4 * BigInt(10000) * 10000
    assert((number(rough, "keyPairs") - pairs).abs < pairs / 5)
    assert((number(rough, "rangePairs") - pairs / 20).abs < pairs / 20 / 2)
    assert(number(rough, "sampledPairs") < 2 * 2000 * 2000)
  }

  test("an estimate says where another range has fewer pairs") {
    def adviceOf(on: String): String = {
      val df = query(s"SELECT l.id FROM l JOIN l r ON l.k = r.k AND $on")
      val JArray(List(join)) =
        parse(JoinReports.jsonWithEstimates(execution(df))): @unchecked
      compact(join \ "advice")
    }
    val (wide, narrow) = ("l.id BETWEEN r.id - 60 AND r.id + 60", "r.y BETWEEN l.y AND l.y + 1")
    assert(
      adviceOf(s"$wide AND $narrow").contains("r.y <= (l.y + 1"),
      adviceOf(s"$wide AND $narrow"))
    assert(adviceOf(s"$wide AND $narrow").contains("in the range of the join: write that first"))
    assert(adviceOf(s"$narrow AND $wide") == "[]")
    // A band drives wherever it is written.
    assert(adviceOf(s"$wide AND l.y BETWEEN r.y AND r.y + r.k") == "[]")
  }

  test("a skewed key of a join that is not adaptive is told, and what splitting it needs", Slow) {
    def adviceOf(key: String, isAdaptive: Boolean): Seq[String] =
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> isAdaptive.toString) {
        val side = s"(SELECT $key AS k, id AS y FROM range(2000))"
        val df = query(s"SELECT 1 FROM $side l JOIN $side r ON $band")
        val JArray(List(join)) =
          parse(JoinReports.jsonWithEstimates(execution(df))): @unchecked
        (join \ "advice").asInstanceOf[JArray].arr.map(_.values.toString)
      }
    val (skewed, small) = ("IF(id % 20 > 0, -1, id)", "IF(id % 20 = 0, -1, id)")
    assert(adviceOf(skewed, isAdaptive = false) == Seq(
      "about 3610000 pairs have the key -1, all in one task: splitting skewed keys needs " +
        "adaptive execution, and spark.sql.adaptive.enabled is false"))
    assert(adviceOf(skewed, isAdaptive = true) == Nil)
    assert(adviceOf(small, isAdaptive = false) == Nil, "10,000 pairs")
  }

  test("no job runs for a report, and an estimate is of the joins in their order") {
    val df = query(s"SELECT l.id FROM l JOIN r ON $band JOIN (SELECT id AS j FROM r) ON l.id = j")
    assert(reports(df).forall(_.metrics.values.forall(_ == 0)))
    val JArray(joins) = parse(JoinReports.jsonWithEstimates(execution(df))): @unchecked
    assert(joins.map(_ \ "sample" \ "leftRows").forall(_.isInstanceOf[JInt]))
    assert(joins.map(_ \ "sample" \ "rangePairs").count(_.isInstanceOf[JInt]) == 1)
    assert(reports(df).forall(_.metrics.values.forall(_ == 0)), "the query itself has not run")
  }

  test("a server gives all reports in one line of EXPLAIN") {
    def line(generator: ExplainProvider) = {
      val df = query(s"SELECT l.id FROM l JOIN r ON $band JOIN (SELECT id AS j FROM r) ON l.id = j")
      val text = explained(df, generator)
      df -> text.linesIterator.dropWhile(!_.contains("(Range joins as JSON)")).drop(1).next()
    }
    val (df, report) = line(new RangeJoinReportGenerator)
    assert(report == JoinReports.json(execution(df)) && report.startsWith("[{"))
    val (sampled, sample) = line(new RangeJoinSampleGenerator)
    val JArray(joins) = parse(sample): @unchecked
    assert(
      joins == (parse(JoinReports.jsonWithEstimates(execution(sampled))): @unchecked).children)
    assert(joins.map(_ \ "sample" \ "leftRows").forall(_.isInstanceOf[JInt]))
  }
}
