// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import org.apache.spark.sql.catalyst.expressions.{Ascending, Attribute, SortOrder}
import org.apache.spark.sql.execution.SortExec
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.TwoEngines
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine
import org.apache.spark.sql.{Column, DataFrame}

import org.scalatest.tagobjects.Slow

/** The sort beside Spark's own, over the same partitions. */
class RangeSortSuite extends SortTest {

  /** Sorts rows by all but their last two columns, which are an id and a payload. */
  private def check(rows: Int, columns: Column*): Map[String, Long] = {
    val names = columns.indices.map(i => s"c$i")
    val df = spark.range(0, rows, 1, 2)
      .select(
        columns.zip(names).map { case (c, name) => c.as(name) } :+ col("id") :+
          expr("repeat('x', cast(id % 50 AS INT))").as("p"): _*)
    val child = withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false")(executedPlan(df))
    val order = child.output.take(columns.size).map((a: Attribute) => SortOrder(a, Ascending))
    val ours = RangeSortExec.sort(order, child)
    assert(ours.isInstanceOf[RangeSortExec])
    val expected = sorted(SortExec(order, global = false, child), columns.size)
    val actual = sorted(ours, columns.size)
    assert(actual._1 == expected._1)
    assert(actual._2 == expected._2)
    spark.sparkContext.listenerBus.waitUntilEmpty()
    ours.metrics.map { case (name, metric) => name -> metric.value }
  }

  private val Few = expr("cast(pmod(hash(id), 7) AS INT)")
  private val Wide = expr("xxhash64(id % 9)")
  private val Spread = expr("xxhash64(id)")
  private val OfNarrow = "pmod(hash(id, 1), 1000)"
  private val Narrow = expr(OfNarrow)

  private def inAllWays(rows: Int, columns: Column*): Unit = {
    check(rows, columns: _*)
    withConf(SQLConf.CODEGEN_FACTORY_MODE.key -> "NO_CODEGEN")(check(rows, columns: _*))
    spillingAfter(rows / 7 + 1) {
      assert(check(rows, columns: _*)("spillSize") > 0)
    }
  }

  test("few keys and a narrow bound") {
    inAllWays(3000, Few, Narrow)
  }

  test("keys spread over their whole type, one row each") {
    inAllWays(3000, Spread, Narrow)
  }

  test("few keys spread over their whole type: long runs") {
    inAllWays(3000, Wide, Narrow)
    inAllWays(3000, Wide, Spread)
  }

  test("rows beyond what the first rows show", Slow) {
    inAllWays(8000, Few, col("id"))
    inAllWays(8000, expr("id div 1000"), expr("if(id < 3000, id % 5, xxhash64(id))"))
    inAllWays(8000, expr("if(id < 5000, 1L, xxhash64(id % 50))"), Narrow)
    inAllWays(8000, expr("if(id < 5000, 1L, shiftleft(1L, 62))"), expr("xxhash64(id)"))
  }

  test("NULL in keys and bounds") {
    inAllWays(
      3000,
      expr("if(id % 5 = 0, NULL, id % 3)"),
      expr("if(id % 7 = 0, NULL, pmod(hash(id), 100))"))
    inAllWays(3000, expr("cast(if(id < 0, 1, NULL) AS INT)"), Narrow)
    inAllWays(3000, Few, expr("cast(if(id < 0, 1, NULL) AS BIGINT)"))
  }

  test("extremes") {
    val ends = expr(
      s"""CASE id % 6 WHEN 0 THEN ${Long.MaxValue}L WHEN 1 THEN -${Long.MaxValue}L - 1L
         |WHEN 2 THEN -1L WHEN 3 THEN 0L ELSE xxhash64(id) END""".stripMargin)
    inAllWays(3000, Few, ends)
    inAllWays(3000, ends, Narrow)
    inAllWays(3000, ends, ends)
  }

  test("doubles, with NaN, infinities and both zeros") {
    val number = expr(
      """CASE id % 9 WHEN 0 THEN double('NaN') WHEN 1 THEN double('infinity')
        |WHEN 2 THEN -double('infinity') WHEN 3 THEN -0.0D WHEN 4 THEN 0.0D
        |ELSE hash(id) / 1000.0D END""".stripMargin)
    inAllWays(3000, Few, number)
    inAllWays(3000, number, Narrow)
    inAllWays(3000, number, expr("cast(hash(id) AS FLOAT)"), Few)
  }

  test("other types, and many columns", Slow) {
    inAllWays(
      3000,
      expr("id % 2 = 0"),
      expr("cast(id % 100 AS TINYINT)"),
      expr("cast(hash(id) AS DECIMAL(12, 2))"),
      expr("date_add(DATE'2020-01-01', cast(id % 999 AS INT))"),
      expr("timestamp_micros(hash(id))")
    )
    inAllWays(3000, Few, expr("cast(hash(id) AS DECIMAL(30, 10))"))
    inAllWays(3000, Few, expr("cast(hash(id) AS STRING)"))
    inAllWays(3000, Few, expr("concat('a long common prefix ', hash(id))"), Narrow)
    inAllWays(3000, Few, expr("cast(cast(hash(id) AS STRING) AS BINARY)"))
    inAllWays(3000, Few, expr("named_struct('a', id % 5, 'b', hash(id))"), Narrow)
  }

  private val FewTexts = "concat('a common prefix ', id % 60)"

  testOfCases("strings as keys", 3)(Seq(
    Seq(FewTexts, OfNarrow),
    Seq(
      "if(id % 7 = 0, NULL, cast(id % 5 AS STRING))",
      FewTexts,
      OfNarrow),
    // Not in the first rows, and between those that are.
    Seq(
      "concat('a common prefix ', if(id < 5000, id % 20, id % 1000))",
      OfNarrow),
    Seq("if(id < 5000, '', cast(id % 3 AS STRING))", OfNarrow),
    // Too many for a dictionary.
    Seq("concat('a common prefix ', hash(id) % 5000)", OfNarrow),
    Seq("cast(hash(id) % 5000 AS STRING)", FewTexts),
    Seq("cast(id % 50 AS STRING) COLLATE UTF8_LCASE", OfNarrow),
    Seq("cast(cast(id % 50 AS STRING) AS BINARY)", OfNarrow),
    Seq("cast(hash(id) % 100 AS DECIMAL(30, 10))", OfNarrow)
  )) { cases =>
    for (columns <- cases if columns.forall(TypesOfLine.knows(_)))
      inAllWays(3000, columns.map(expr): _*)
  }

  private def sensor(key: Column): Column = concat(lit("sensor "), key)

  private def ofKeys(keys: Int): Column = expr(s"pmod(hash(id), $keys)")

  private val Late = expr("if(id % 18000 < 17000, pmod(hash(id), 1000), pmod(hash(id), 3000))")
  private val Ends = s"if(id % 2 = 0, ${Long.MaxValue}L, -${Long.MaxValue}L - 1L)"

  testOfCases("hundreds and thousands of keys, of which a thousand rows show a part", 3)(Seq(
    // Dictionaries of strings and of longs.
    Seq(sensor(ofKeys(400)), Narrow),
    Seq(sensor(ofKeys(3000)), Narrow),
    Seq(xxhash64(ofKeys(3000)), sensor(ofKeys(3000)), Spread),
    Seq(xxhash64(ofKeys(400)), sensor(ofKeys(400)), Spread),
    Seq(expr("if(id % 5 = 0, NULL, double(xxhash64(pmod(hash(id), 2000))) / 3)"), Spread),
    // In rows that come late, keys between those that are known, and beyond all of them.
    Seq(sensor(Late), Narrow),
    Seq(expr(s"if(id % 999 = 998, $Ends, xxhash64(id % 700))"), Spread),
    Seq(expr(s"if(id % 18000 > 17900, $Ends, xxhash64(id % 700))"), Spread)
  ))(_.foreach(check(36000, _: _*)))

  test("thousands of keys that come late, in memory, interpreted and on disk", Slow) {
    inAllWays(36000, xxhash64(Late), Spread)
  }

  test("strings that begin alike, and rows that come late and do not") {
    val late = "CASE pmod(hash(id), 5) WHEN 0 THEN 'a' WHEN 1 THEN 'sens' WHEN 2 THEN '' " +
      "WHEN 3 THEN 'sensor number' ELSE 'z' END"
    inAllWays(
      3000,
      expr(s"concat(if(id % 4000 < 3000, 'sensor number ', $late), hash(id) % 9999)"),
      Narrow)
    inAllWays(
      3000,
      Few,
      expr(s"if(id % 9 = 0, NULL, concat(if(id % 4000 < 3000, 'sensor ', $late), hash(id)))"))
  }

  private def sortsOf(query: => DataFrame, engine: Seq[(String, String)]): Seq[RangeSortExec] =
    withConf(engine: _*) {
      collect(executedPlan(query)) { case sort: RangeSortExec => sort }
    }

  private val ofFour = "id * 7919 % 750"

  testOfCases("rows that are sorted by keys, and then key by key", 4)(Seq(
    // Strings in any order, which the prefix tells apart: all of them, or those of the first rows.
    Seq(s"lpad($ofFour, 9, 'k')", OfNarrow),
    Seq(s"sha2(string($ofFour), 256)", OfNarrow),
    Seq(s"if(id % 1500 < 1300, string($ofFour), concat('1234567890', id % 9))", OfNarrow),
    Seq("concat('one beginning of all ', id % 4, repeat('-', 9), id * 7919 % 3)", OfNarrow),
    // In order, and one string after the other.
    Seq("concat('customer-', lpad(id div 5, 12, '0'))", OfNarrow),
    Seq("sha2(string(id div 5), 256)", OfNarrow),
    Seq("xxhash64(id div 50)", "xxhash64(id)"),
    // Several keys.
    Seq(s"string($ofFour)", "id % 3", OfNarrow),
    Seq("id % 3", s"string($ofFour)", OfNarrow),
    // Bounds that are strings: of few rows a key, and of many.
    Seq(ofFour, "string(date_add(DATE'2020-01-01', int(hash(id) % 999)))"),
    Seq("id div 4", "if(id % 9 = 0, NULL, string(hash(id) % 999))"),
    Seq("if(id % 1500 < 1100, id, id % 2)", "string(hash(id))"),
    Seq("id * 7919 % 750", "cast(hash(id) % 100 AS DECIMAL(30, 10))")
  ))(_.foreach(columns => inAllWays(3000, columns.map(expr): _*)))

  testOfCases("joins of sides that are sorted by keys, and then key by key", 6)(for {
    (joinType, i) <- Seq("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI").zipWithIndex
    engine = TwoEngines.apply(i % 2)
    (key, bound) <- Seq("short" -> "t", "long" -> "t", "whole" -> "d")
  } yield (joinType, engine, key, bound)) { cases =>
    // Keys of one or two rows, of three dozen, and one of hundreds that comes late.
    val often = "if(id % 2 = 0, id * 7919 % 100, id * 7919 % 7000 + 1000)"
    for ((name, rows, seed) <- Seq(("l", 12000, 1), ("r", 10000, 5))) {
      val key = s"if(id > 8000 AND id % 4 = 0, 7, if(id > 7000, $often, id * 7919 % 7000 + 1000))"
      spark.range(0, rows, 1, 2).selectExpr(
        "id",
        s"if(id % 97 = 0, NULL, $key) AS whole").selectExpr(
        "*",
        "lpad(whole, 9, 'k') AS short",
        "sha2(string(whole), 256) AS long",
        s"pmod(hash(id, $seed), 365) AS t",
        s"string(date_add(DATE'2020-01-01', pmod(hash(id, $seed), 365))) AS d"
      ).createOrReplaceTempView(name)
    }
    for ((joinType, engine, k, bound) <- cases) {
      val within =
        if (bound == "t") "r.t BETWEEN l.t - 9 AND l.t"
        else "r.d >= l.d AND r.d < left(l.d, 8) || '99'"
      def query = spark.sql(
        s"SELECT /*+ MERGE(r) */ * FROM l $joinType JOIN r ON l.$k = r.$k AND $within")
      val found = checkAgainstStock(query, engines = Seq(engine))
      assert(found > 1000)
      val sorts = sortsOf(query, engine)
      assert(sorts.size == 2 && sorts.forall(_.mayGroup))
    }
  }

  test("many batches, in memory, interpreted and on disk", Slow) {
    inAllWays(30000, Few, Narrow)
    inAllWays(30000, Spread, Narrow)
  }

  test("many batches, in order and not, and rows that are larger than one", Slow) {
    check(80000, Spread, Narrow)
    check(80000, expr("id div 10"), col("id"))
    inAllWays(30000, Few, Narrow, expr("if(id % 9000 = 8999, repeat('y', 600000), 'z')"))
  }

  testOfCases("joins of sides that come in many batches", 5)(for {
    (joinType, i) <- Seq("INNER", "LEFT", "FULL", "LEFT ANTI").zipWithIndex
    (k, engine) = Seq("spread", "narrow").zip(TwoEngines).apply(i % 2)
  } yield (k, engine, joinType)) { cases =>
    for ((name, rows, seed) <- Seq(("l", 60000, 1), ("r", 50000, 5))) {
      spark.range(0, rows, 1, 3).selectExpr(
        "id",
        s"xxhash64(pmod(hash(id, $seed), 900)) AS spread",
        s"if(id % 11 = 0, NULL, pmod(hash(id, $seed), 900)) AS narrow",
        s"pmod(hash(id, $seed + 1), 100000) AS t"
      ).createOrReplaceTempView(name)
    }
    for ((k, engine, joinType) <- cases) {
      def query = spark.sql(
        s"SELECT * FROM l $joinType JOIN r ON l.$k = r.$k AND r.t BETWEEN l.t - 900 AND l.t + 900")
      val found = checkAgainstStock(query, engines = Seq(engine))
      assert(found > 10000)
      assert(sortsOf(query, engine).size == 2)
    }
  }

  test("no rows, and one") {
    for (rows <- Seq(0, 1, 2)) check(rows, Few, Narrow)
  }

  test("what it cannot win is sorted by Spark") {
    val child = executedPlan(spark.range(3).selectExpr("-id AS id", "cast(id AS STRING) AS s"))
    def order(columns: Int*) = columns.map(i => SortOrder(child.output(i), Ascending))
    assert(RangeSortExec.sort(order(0, 1), child).isInstanceOf[RangeSortExec])
    assert(RangeSortExec.sort(order(1, 0), child).isInstanceOf[RangeSortExec])
    assert(RangeSortExec.sort(order(0), child).isInstanceOf[SortExec])
    withConf(SQLConf.RADIX_SORT_ENABLED.key -> "false") {
      assert(RangeSortExec.sort(order(0, 1), child).isInstanceOf[SortExec])
    }
  }
}
