// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.merge

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, RowOrdering, SortOrder}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.window.WindowExec
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.functions.{col, expr}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Settings, spillingFrom}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.skew.SkewReshuffleExec

import org.scalatest.tagobjects.Slow

/**
 * Sorts above are removed for the order that a join promises, and what is cached keeps the promise: so the rows of each
 * node are held against all that it promises, partition by partition.
 */
class PromisedOrderSuite extends RangeJoinTest {
  import PromisedOrderSuite._

  private def sides(key: String = "INT", time: String = "INT", keys: Int = 5): Unit =
    for ((name, rows) <- Seq("l" -> 90, "r" -> 70)) {
      def random(seed: Int, n: Int) = s"pmod(hash(id, '$name', $seed), $n)"
      def value(number: String, dataType: String) = dataType match {
        case "DOUBLE" =>
          s"CASE $number WHEN 0 THEN -0.0D WHEN 1 THEN 0.0D WHEN 2 THEN double('NaN') ELSE double($number) END"
        case "STRING" => s"concat('with the same prefix ', lpad($number, 3, '0'))"
        case other    => s"cast($number AS $other)"
      }
      spark.range(0, rows, 1, 3).selectExpr(
        "id",
        s"if(id % 17 = 3, NULL, ${value(random(1, keys), key)}) AS k",
        s"if(id % 19 = 4, NULL, ${value(random(2, 40), time)}) AS t",
        s"if(id % 23 = 5, NULL, ${value(random(3, 50), time)}) AS e"
      ).createOrReplaceTempView(name)
    }

  /** All nodes that run, those of stages that have run as well. */
  private def nodes(plan: SparkPlan): Seq[SparkPlan] = {
    val top = stripAQEPlan(plan)
    top.collect { case node => node } ++
      top.collect { case stage: QueryStageExec => nodes(stage.plan) }.flatten
  }

  /** Holds the rows of all nodes against their promises; returns what range joins promise. */
  private def assertOrdered(df: DataFrame): Seq[Seq[SortOrder]] = {
    val all = nodes(executedPlan(df)).filterNot(_.isInstanceOf[Exchange])
    for (node <- all if node.outputOrdering.nonEmpty && !node.supportsColumnar) {
      val order = node.outputOrdering
      // What is in the same order as a column is so within the columns before it.
      val held = for ((column, i) <- order.zipWithIndex; same <- column.children)
        yield order.take(i) :+ SortOrder(same, column.direction, column.nullOrdering, Nil)
      for ((wrong, by) <- violations(node, held).zip(held))
        assert(wrong == 0, s"$by is not the order of\n$node")
    }
    all.collect { case join: SortMergeRangeJoinExec => join.outputOrdering }
  }

  private def check(
      sql: String,
      settings: Settings = Nil,
      engines: => Seq[Settings] = nextEngine): Seq[Seq[SortOrder]] = {
    val expected = rowsOfStock(spark.sql(sql))
    assert(expected.nonEmpty, sql)
    engines.flatMap { engine =>
      withConf(engine ++ settings: _*) {
        val df = spark.sql(sql)
        assertSameRows(rows(df), expected, s"$sql\n${executedPlan(df)}")
        assertOrdered(df)
      }
    }
  }

  private def keyed(range: String) = s"l.k = r.k AND $range"

  private val Conditions = Seq(
    "r.t BETWEEN l.t - 4 AND l.t + 3",
    "r.t <= l.t",
    "r.t > l.t AND l.id <> r.id",
    "l.t BETWEEN r.t AND r.e",
    "r.t BETWEEN l.t AND l.e",
    "r.t * 2 BETWEEN l.t * 2 - 9 AND l.t * 2",
    "l.t <= r.e AND r.t <= l.e",
    "abs(l.t - r.t) < 4 AND l.id % 5 <> r.id % 5"
  )

  /** Whether there are two ends, so that the streamed side is in the order of one of them, and no column is added for it. */
  private def isByColumns(condition: String): Boolean =
    Seq("BETWEEN", "abs", " AND r.t <=").exists(condition.contains) && !condition.contains("* 2")

  private def joined(joinType: String, condition: String): String =
    if (joinType == "EXISTS")
      s"SELECT * FROM l WHERE id % 7 = 1 OR EXISTS (SELECT * FROM r WHERE ${keyed(condition)})"
    else s"SELECT * FROM l $joinType JOIN r ON ${keyed(condition)}"

  for (joinType <- Seq("", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI", "EXISTS"))
    testOfCases(s"rows are in the order that is promised: $joinType JOIN", 7)(
      Conditions.zipWithIndex.map { case (condition, i) =>
        // In memory and on disk, in turn.
        (condition, if ((i + joinType.length) % 2 == 0) 1 else 1000)
      }) { cases =>
      sides()
      for ((condition, window) <- cases) {
        val promised = check(joined(joinType, condition), spillingFrom(window))
        val isLonger = promised.map(_.size > 1)
        if (joinType == "FULL") assert(promised.forall(_.isEmpty))
        else if (isByColumns(condition)) assert(isLonger.forall(identity), s"$condition: $promised")
      }
    }

  /** Caches views `l_in_order` and `r_in_order`, whose rows come in order by key alone. */
  private def inOrderOfKeys(body: => Unit): Unit = {
    val cached = Seq("l", "r").map { side =>
      val sorted = spark.table(side).repartition(3, col("k")).sortWithinPartitions("k")
      withConf(
        SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false",
        SQLConf.CAN_CHANGE_CACHED_PLAN_OUTPUT_PARTITIONING.key -> "false")(sorted.cache().count())
      sorted.createOrReplaceTempView(s"${side}_in_order")
      sorted
    }
    try body
    finally cached.foreach(_.unpersist(blocking = true))
  }

  for ((joinType, side) <- Seq("" -> "l", "LEFT" -> "l", "RIGHT" -> "r", "LEFT SEMI" -> "l"))
    test(
      s"of sides that are sorted key by key, where it is asked for: $joinType JOIN",
      slowIf(joinType != "LEFT"): _*) {
      // Many rows a key, and so few that they need no order.
      for (keys <- Seq(3, 30)) {
        sides(keys = keys)
        inOrderOfKeys {
          val join = joined(joinType, "l.t <= r.t AND r.t <= l.e AND l.e >= l.t")
            .replace("FROM l", "FROM l_in_order AS l").replace("JOIN r", "JOIN r_in_order AS r")
          val ranked =
            join.replace("*", s"*, count(*) OVER (PARTITION BY $side.k ORDER BY $side.t) AS n")
          assert(check(join).map(_.size).distinct == Seq(1))
          assert(check(ranked).map(_.size).distinct == Seq(2))
          assert(nodes(executedPlan(spark.sql(ranked))).collect { case s: SortExec => s }.isEmpty)
        }
      }
    }

  testOfCases("of every type", 6)(
    for (key <- Seq("INT", "DOUBLE", "STRING"); time <- Seq("DOUBLE", "STRING"))
      yield (key, time)) { cases =>
    for ((key, time) <- cases) {
      sides(key, time)
      check(joined(if (key == "DOUBLE") "LEFT" else "", "r.t BETWEEN l.t AND l.e"))
      check(joined(if (key == "DOUBLE") "" else "LEFT", "r.t <= l.t"))
    }
  }

  test("of best matches, ranked in place or not, and of aggregates of matches", Slow) {
    sides()
    val ranked = "SELECT * FROM (SELECT l.*, r.id AS rid, r.t AS rt, row_number() OVER " +
      "(PARTITION BY l.id ORDER BY r.t DESC, r.id) AS n FROM l LEFT JOIN r ON %s) WHERE n <= 2"
    for ((condition, window) <- Conditions.take(2).zip(Seq(1, 1000))) {
      check(ranked.format(keyed(condition)), spillingFrom(window))
      check(
        "SELECT *, (SELECT max_by(id, struct(t, id)) FROM r WHERE " +
          s"${keyed(condition)}) AS m FROM l",
        spillingFrom(window))
      check(s"SELECT *, (SELECT sum(id) FROM r WHERE ${keyed(condition)}) AS m FROM l")
      check(s"SELECT l.k, l.t, sum(r.id) FROM l JOIN r ON ${keyed(condition)} GROUP BY l.k, l.t")
    }
  }

  test("of shuffled range joins above, by an index and sorted", Slow) {
    sides()
    for (limit <- Seq("1g", "0");
      condition <- Conditions.take(2) :+ "r.t BETWEEN l.e AND l.e + 9") {
      check(
        "SELECT /*+ SHUFFLE_HASH(r) */ * FROM (SELECT /*+ MERGE(r) */ l.* FROM l JOIN r ON " +
          s"${keyed(Conditions.head)}) AS l JOIN r ON ${keyed(condition)}",
        Seq(InternalConf.IndexLimit.key -> limit)
      )
    }
  }

  test("of keys that are split", Slow) {
    sides(keys = 2)
    for {
      joinType <- Seq("", "LEFT", "LEFT SEMI")
      (buckets, engine) <- Seq(2, 7).zip(RangeJoinTest.AdaptiveEngines)
    } {
      val sql = joined(joinType, Conditions.head)
      val split = Seq(InternalConf.SkewBuckets.key -> buckets.toString)
      check(sql, split, Seq(engine))
      withConf(split :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true"): _*) {
        val df = spark.sql(sql)
        df.collect()
        assert(nodes(executedPlan(df)).exists(_.isInstanceOf[SkewReshuffleExec]))
      }
    }
  }

  test("what is cached keeps it, and stock Spark's plans rely on it") {
    sides()
    val windows = "count(*) OVER (PARTITION BY k ORDER BY t) AS n, " +
      "sum(rid) OVER (PARTITION BY k ORDER BY t) AS s"
    for (adaptive <- Seq("true", "false"); joinType <- Seq("inner", "left")) {
      val on = keyed("r.t BETWEEN l.t AND l.t + 7")
      def join = spark.table("l").as("l").join(spark.table("r").as("r"), expr(on), joinType)
        .select(col("l.k"), col("l.t"), col("r.id").as("rid"))
      val expected = rowsOfStock(join.selectExpr("*" +: Seq(
        windows.split(", (?=sum)").toSeq: _*): _*))
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive) {
        val cached = join.cache()
        cached.count()
        try withConf(Flag -> "false") {
            val df = cached.selectExpr("*" +: windows.split(", (?=sum)").toSeq: _*)
            assertSameRows(rows(df), expected, executedPlan(df).toString)
            val plan = executedPlan(df)
            assert(collect(plan) { case w: WindowExec => w }.size == 1)
            if (adaptive == "false") assert(collect(plan) { case s: SortExec => s }.isEmpty, plan)
          }
        finally cached.unpersist(blocking = true)
      }
    }
  }
}

object PromisedOrderSuite {

  /** How many rows of a node come before the one that they should come after, by each of some orders. */
  private def violations(node: SparkPlan, orders: Seq[Seq[SortOrder]]): Seq[Long] = {
    val output: Seq[Attribute] = node.output
    val ofPartitions = node.execute().mapPartitions { rows =>
      val orderings = orders.map(RowOrdering.create(_, output)).toArray
      val wrong = new Array[Long](orders.size)
      var last: InternalRow = null
      rows.foreach { row =>
        val current = row.copy()
        if (last != null)
          for (i <- wrong.indices if orderings(i).compare(last, current) > 0) wrong(i) += 1
        last = current
      }
      Iterator.single(wrong)
    }.collect()
    orders.indices.map(i => ofPartitions.map(_(i)).sum)
  }
}
