// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.explain

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FormattedMode
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

import org.json4s.JsonAST.{JArray, JNothing, JNull, JString}
import org.json4s.jackson.JsonMethods.parse

/** What is said of each join of a plan, and where a user sees it. */
class JoinReportsSuite extends ReportsTest {
  private val Adaptive = SQLConf.ADAPTIVE_EXECUTION_ENABLED.key

  override protected val table: String =
    "SELECT id, cast(id % 4 AS int) AS k, cast(id AS int) AS y, cast(id + 2 AS int) AS z " +
      "FROM range(40)"

  private def reasonFor(sql: String): Reason = {
    val report = only(reports(query(sql)))
    assert(report.range.isEmpty && report.streamed.isEmpty)
    report.reason.get
  }

  private val band = "r.y BETWEEN l.y - 2 AND l.y + 2"

  for (adaptive <- Seq("true", "false")) {

    test(s"a range join is told by its keys, range, residual and sides (adaptive: $adaptive)") {
      withConf(Adaptive -> adaptive) {
        val df = query(s"SELECT * FROM l JOIN r ON l.k = r.k AND $band AND l.id + r.id <> 3")
        val line = "1. SortMergeRangeJoin, INNER; keys: l.k = r.k; range: (r.y >= (l.y - 2)) AND " +
          "(r.y <= (l.y + 2)); residual: (NOT ((l.id + r.id) = 3L)); streamed side: left"
        assert(explained(df).contains(line), explained(df))
        df.collect()
        val after = only(reports(df))
        assert(after.reason.isEmpty && after.metrics("numOutputRows") > 0)
        assert(explained(df).contains(line), "after it has run")
      }
    }

    test(s"a stock join is told with its reason and remedy (adaptive: $adaptive)") {
      withConf(Adaptive -> adaptive) {
        val df = query("SELECT * FROM l JOIN r ON l.k = r.k AND (l.y < r.y OR l.z < r.z)")
        val text = explained(df)
        assert(
          text.contains(
            "1. SortMergeJoin, INNER; keys: l.k = r.k\n   no range join: the ranges joined by OR in " +
              "((l.y < r.y) OR (l.z < r.z)) bound different columns"),
          text
        )
        assert(text.contains("\n   to change that: join once for each range"), text)
      }
    }
  }

  test("every join of stock Spark that compares its sides has a reason") {
    assert(
      reasonFor(s"SELECT /*+ SHUFFLE_REPLICATE_NL(r) */ * FROM l JOIN r ON $band") == Reason.NoKey)
    withConf(RangeJoinConf.RangePartitioning.key -> "false") {
      assert(reasonFor(s"SELECT * FROM l JOIN r ON $band") ==
        Reason.SwitchedOff(RangeJoinConf.RangePartitioning.key))
    }
    assert(reasonFor("SELECT * FROM l JOIN r ON l.k = r.k AND l.y NOT BETWEEN r.y AND r.z")
      .isInstanceOf[Reason.OutsideOfRange])
    assert(reasonFor("SELECT * FROM l JOIN r ON l.y < r.y OR l.z < r.z")
      .isInstanceOf[Reason.DifferentColumns])
    assert(reasonFor("SELECT * FROM l JOIN r ON l.k = r.k AND r.y <= l.y * r.z")
      .isInstanceOf[Reason.MixedSides])
    assert(reasonFor("SELECT * FROM l JOIN r") == Reason.NoCondition)
    assert(reasonFor("SELECT * FROM l JOIN r ON l.k = r.k") == Reason.NoCondition)
    assert(reasonFor("SELECT * FROM l JOIN r ON l.k = r.k AND l.y <> r.y") ==
      Reason.NoRangePredicate)
    withConf(RangeJoinConf.Shuffled.key -> "false") {
      assert(reasonFor(s"SELECT /*+ SHUFFLE_HASH(r) */ * FROM l JOIN r ON l.k = r.k AND $band") ==
        Reason.SwitchedOff(RangeJoinConf.Shuffled.key))
    }
    withConf(RangeJoinConf.Broadcast.key -> "false") {
      for (joinType <- Seq("LEFT", "FULL")) {
        assert(reasonFor(s"SELECT /*+ BROADCAST(l) */ * FROM l $joinType JOIN r ON $band") ==
          Reason.SwitchedOff(RangeJoinConf.Broadcast.key))
      }
    }
    withConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB") {
      assert(reasonFor("SELECT * FROM l WHERE y + 1 NOT IN (SELECT y + 1 FROM " +
        "(SELECT nullif(y, 1) AS y FROM r))") == Reason.NullAware)
    }
  }

  test("columns of one name, of both sides of a self join, have their numbers") {
    // Of a common table expression that is inlined, all but the first copy have the names of what it is made of.
    val from = "FROM tr x JOIN tr h ON x.id = h.id JOIN tr k ON h.k = k.k AND"
    def select(columns: String, on: String, rest: String = "") = query(
      "WITH tr AS (SELECT s.id, s.k, s.y, s.z FROM l s JOIN r ON s.k = r.id) " +
        s"SELECT $columns $from $on $rest")
    val numbered = "s\\.y#(\\d+) >= s\\.y#(\\d+)".r
    def check(text: String, also: String*) = {
      val found = numbered.findAllMatchIn(text).toSeq
      assert(found.nonEmpty && found.forall(m => m.group(1) != m.group(2)), text)
      for (words <- also) assert(words.r.findFirstIn(text).isDefined, s"$words: $text")
    }
    val keys = "keys: s\\.k#\\d+ = s\\.k#\\d+; range: "
    val df = select("h.id, k.id", "h.y >= k.y AND h.y <= k.z AND h.id + k.id <> 3")
    check(explained(df), keys, "residual: .*s\\.id#\\d+ \\+ s\\.id#\\d+")
    df.collect()
    check(explained(df), keys)
    check(JoinReports.json(execution(df)), "\"range\":\"\\(s\\.y#")
    check(
      explained(select("h.id", "(h.y >= k.y OR h.z <= k.id)")),
      "no range join: .* \\(\\(s\\.y#")
    check(
      explained(select("h.id, max(k.y)", "h.y >= k.y", "GROUP BY h.id")),
      "matches: .* by s\\.y#\\d+ DESC")
    val (one, other) = (query("SELECT s.k, s.y FROM l s"), query("SELECT s.k, s.y FROM l s"))
    check(explained(one.join(other, one("k") === other("k") && one("y") >= other("y"))), keys)
    // An alias that is left tells them apart.
    val aliased = query("SELECT * FROM l a JOIN l b ON a.k = b.k AND a.y >= b.y")
    assert(explained(aliased).contains("range: (a.y >= b.y)"))
  }

  test("what is said to change an OR gives range joins, with the same rows") {
    def joins(df: DataFrame) = reports(df).count(_.operator.endsWith("RangeJoin"))
    val (near, late) = ("r.y BETWEEN l.y - 2 AND l.y + 2", "r.z BETWEEN l.id * 3 AND l.id * 3 + 1")
    def ofRange(on: String) = s"SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND $on"
    def ofExists(on: String) = s"EXISTS (SELECT 1 FROM r WHERE l.k = r.k AND $on)"
    for ((one, two) <- Seq(
        ofRange(s"($near OR $late)") ->
          s"${ofRange(near)} UNION ALL ${ofRange(s"$late AND NOT coalesce($near, false)")}",
        ofRange("l.y NOT BETWEEN r.y AND r.z") ->
          s"${ofRange("l.y < r.y")} UNION ALL ${ofRange("l.y > r.z AND NOT coalesce(l.y < r.y, false)")}",
        s"SELECT id FROM l WHERE ${ofExists(s"($near OR $late)")}" ->
          s"SELECT id FROM l WHERE ${ofExists(near)} OR ${ofExists(late)}"
      )) {
      val (stock, changed) = (query(one), query(two))
      // Below EXISTS, Spark puts `id` in the place of `y`: there it is one column.
      assert(joins(stock) == 0 || one.contains("EXISTS"), executedPlan(stock))
      assert(joins(changed) == 2, executedPlan(changed))
      assertSameRows(rows(changed), rows(stock), two)
    }
  }

  test("a query that has failed is told, though its shuffles have not run") {
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true") {
      val df = query("SELECT * FROM (SELECT k, IF(y > -9, raise_error('no'), y) AS y FROM l) l " +
        "JOIN r ON l.k = r.k AND r.y BETWEEN l.y - 1 AND l.y + 1")
      assert(intercept[Exception](df.collect()).getMessage.contains("no"))
      assert(reports(df).map(_.operator) == Seq("SortMergeRangeJoin"))
    }
  }

  test("a setting that is in the way is named") {
    withConf(Flag -> "false") {
      assert(reasonFor(s"SELECT * FROM l JOIN r ON l.k = r.k AND $band") ==
        Reason.SwitchedOff(Flag))
    }
    withConf(RangeJoinConf.Broadcast.key -> "false") {
      assert(reasonFor(s"SELECT /*+ BROADCAST(r) */ * FROM l JOIN r ON l.k = r.k AND $band") ==
        Reason.SwitchedOff(RangeJoinConf.Broadcast.key))
    }
    val df = withConf(Flag -> "false") {
      val stock = query(s"SELECT * FROM l JOIN r ON l.k = r.k AND $band")
      executedPlan(stock)
      stock
    }
    assert(only(reports(df)).reason.contains(Reason.PlannedOtherwise))
  }

  test("joins come in the order of the plan, those of subqueries too") {
    val df = query(
      s"""SELECT /*+ BROADCAST(b) */ * FROM l JOIN r a ON l.k = a.k AND a.y BETWEEN l.y AND l.z
      |JOIN r b ON b.y BETWEEN l.y - 1 AND l.y + 1
      |WHERE l.y < (SELECT max(l.y) FROM l JOIN r ON l.k = r.k AND $band)""".stripMargin)
    assert(reports(df).map(_.operator) ==
      Seq("BroadcastRangeJoin", "SortMergeRangeJoin", "SortMergeRangeJoin"))
    assert(reports(df).head.keys.isEmpty)
  }

  test("EXPLAIN passes over joins of equi keys alone, and says so where there are no others") {
    val text = explained(query("SELECT * FROM l JOIN r ON l.k = r.k"))
    assert(
      text.contains("== Extended Information (Range joins) ==\nNo join of this plan has"),
      text)
    val both = query(s"SELECT l.id FROM l JOIN r ON l.k = r.k AND $band JOIN r b ON b.id = l.id")
    assert(explained(both).contains("\n1. SortMergeRangeJoin"))
    assert(!explained(both).contains("\n2. "), explained(both))
  }

  test("EXPLAIN FORMATTED has the same") {
    val product = query(s"SELECT /*+ SHUFFLE_REPLICATE_NL(r) */ * FROM l JOIN r ON $band")
    val text = explained(product, mode = FormattedMode)
    assert(
      text.contains("1. CartesianProduct, INNER\n   no range join: there is no equi key"),
      text)
  }

  test("reports travel as JSON") {
    val df = query(s"SELECT * FROM l JOIN r ON l.k = r.k AND $band")
    val JArray(List(range)) =
      parse(JoinReports.json(execution(df))): @unchecked
    assert(range \ "operator" == JString("SortMergeRangeJoin"))
    assert(range \ "keys" == JArray(List(JString("l.k = r.k"))))
    assert(range \ "range" == JString("(r.y >= (l.y - 2)) AND (r.y <= (l.y + 2))"))
    assert(range \ "streamed" == JString("left") && range \ "buffered" == JString("right"))
    assert(Seq(JNothing, JNull).contains(range \ "reason"))
    val stock = query(s"SELECT /*+ SHUFFLE_REPLICATE_NL(r) */ * FROM l JOIN r ON $band")
    val JArray(List(product)) =
      parse(JoinReports.json(execution(stock))): @unchecked
    assert(product \ "reason" == JString(Reason.NoKey.cause))
    assert(product \ "remedy" == JString(Reason.NoKey.remedy.get))
  }
}
