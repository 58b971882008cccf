// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.{Column, DataFrame}

/** Bounds of the broadcast side that only a task can evaluate. */
class BroadcastBoundsSuite extends BroadcastTables {
  import BroadcastBoundsSuite._

  // On the driver they give another value than in a task, and so other matches.
  private lazy val ahead = udf((t: Long) => if (TaskContext.get() == null) t else t + 7)
  private lazy val named =
    udf((t: Long) => (if (TaskContext.get() == null) "a" else "b") + f"$t%05d is long enough")

  private def after(value: Column, other: Column): Column = other.between(value, value + 5)

  private lazy val ofLong = after(ahead(col("r.t")), col("l.t"))

  private def textOf(t: Column): Column =
    concat(lit("b"), lpad(t.cast("string"), 5, "0"), lit(" is long enough"))

  private lazy val ofString = {
    val value = textOf(col("l.t"))
    value >= named(col("r.t")) && value <= named(col("r.t") + 4)
  }

  private lazy val keyed = col("l.k") === col("r.k")

  /** The projections that compute bounds below the broadcast. */
  private def computed(df: DataFrame): Seq[ProjectExec] =
    nodes[BroadcastExchangeExec](df).map(_.child).flatMap(below).collect {
      case project: ProjectExec if project.output.exists(BuildBounds.isAdded) => project
    }

  private def below(plan: SparkPlan): Seq[SparkPlan] = collect(plan) { case node => node }

  private val joinTypes = Seq("inner", "left", "left_semi", "left_anti")

  for ((name, range) <- Seq("a long" -> (() => ofLong), "a string" -> (() => ofString))) {
    test(s"a function of the user whose value is $name is evaluated in tasks") {
      for (on <- Seq(keyed && range(), range()); joinType <- joinTypes) {
        checkAgainstStock(l.join(r.hint("broadcast"), on, joinType), engines = nextEngine)
      }
      withConf(adaptive(false)) {
        val df = l.join(r.hint("broadcast"), keyed && range())
        assert(computed(df).size == 1, executedPlan(df))
        assert(df.columns.toSeq == Seq("id", "k", "t", "id", "k", "t"))
      }
    }
  }

  test("a function of the user under a lambda is evaluated with the elements") {
    val each = element_at(transform(array(col("r.t")), x => ahead(x)), 1)
    val range = col("l.t") >= each && col("l.t") <= each + 5
    for (on <- Seq(keyed && range, range)) {
      checkAgainstStock(l.join(r.hint("broadcast"), on), engines = nextEngine)
    }
  }

  test("the left side is broadcast") {
    for (joinType <- Seq("inner", "right")) {
      def df = r.hint("broadcast").join(l, keyed && ofLong, joinType)
      checkAgainstStock(df, engines = nextEngine)
    }
  }

  test("EXISTS under OR") {
    spark.udf.register("ahead", ahead)
    l.createOrReplaceTempView("l")
    r.createOrReplaceTempView("r")
    checkAgainstStock(spark.sql(
      """SELECT id FROM l WHERE id < 3 OR EXISTS (SELECT 1 FROM r
        |WHERE l.k = r.k AND l.t BETWEEN ahead(r.t) AND ahead(r.t) + 5)""".stripMargin))
  }

  // A streamed row of another key has nothing searched, so that only bounds are evaluated.
  private def evaluations(range: Column): Long = {
    val streamed = spark.range(1).select((col("id") - 1).as("k"), col("id").as("t")).as("l")
    val build = r.selectExpr("CASE WHEN k <> 1 THEN k END AS k", "t").as("r")
    Counted.set(0)
    assert(streamed.join(build.hint("broadcast"), keyed && range).collect().isEmpty)
    Counted.get
  }

  test("a function of the user is evaluated once for a row, and not for one whose key is NULL") {
    val (long, string) = (udf(counted _), udf((t: Long) => s"a string of ${counted(t)}"))
    val (t, name) = (long(col("r.t")), string(col("r.t")))
    val withKey = r.where("k <> 1").count()
    assert(withKey < r.count())
    withConf(adaptive(false), InternalConf.LinearScanThreshold.key -> "0") {
      assert(evaluations(after(t, col("l.t"))) == withKey)
      assert(evaluations(after(col("l.t"), t) && col("l.t") < t + 3) == withKey)
      assert(evaluations(col("l.t") >= t && col("l.t") <= t + 5) == withKey)
      assert(evaluations(name.between(textOf(col("l.t")), textOf(col("l.t") + 4))) == withKey)
      // Each branch for the rows that take it.
      val some = when(col("r.t") > 50, t).otherwise(col("r.t"))
      assert(evaluations(after(some, col("l.t"))) == r.where("k <> 1 AND t > 50").count())
    }
  }

  test("a function of the user that raises for some rows loses no match") {
    val careful = udf((t: Long) => if (t % 3 == 0) throw new ArithmeticException("!") else t)
    // Stock does not ask it where what comes before it is false.
    val before = keyed && col("r.t") % 3 + col("l.t") * 0 =!= 0
    for (value <- Seq(careful(col("r.t")), careful(col("r.t")) + 1)) {
      val on = before && after(value, col("l.t"))
      assert(checkAgainstStock(l.join(r.hint("broadcast"), on), engines = nextEngine) > 0)
    }
  }

  test("a point whose value is a function of the user's is indexed as one") {
    val range = named(col("r.t")).between(textOf(col("l.t")), textOf(col("l.t") + 4))
    withConf(adaptive(false)) {
      val df = l.join(r.hint("broadcast"), keyed && range)
      val mode = only(broadcastJoins(df)).mode
      assert(mode.sortValue.isDefined && mode.sortValue == mode.evictValue)
    }
  }

  test("arithmetic is evaluated while the index is built") {
    withConf(adaptive(false)) {
      val df = l.join(r.hint("broadcast"), keyed && after(col("r.t") * 2 + 1, col("l.t")))
      assert(broadcastJoins(df).size == 1 && computed(df).isEmpty)
    }
  }

  test("a broadcast of the same bounds is used again, one of others is not") {
    def joined(a: Column, b: Column): DataFrame = {
      val small = r.hint("broadcast")
      // All columns of both, so that both read the same of the broadcast side.
      l.join(small, keyed && a)
        .select(col("l.id"), col("l.k"), col("l.t"), col("r.id").as("first")).as("l")
        .join(small, keyed && b)
    }
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      val same = joined(ofLong, ofLong)
      assert(nodes[ReusedExchangeExec](same).size == 1, executedPlan(same))
      val other = joined(ofLong, after(ahead(col("r.t") + 1), col("l.t")))
      assert(nodes[ReusedExchangeExec](other).isEmpty, executedPlan(other))
    }
    checkAgainstStock(joined(ofLong, ofLong), joins = 2, nextEngine)
    checkAgainstStock(
      joined(ofLong, after(ahead(col("r.t") + 1), col("l.t"))),
      joins = 2,
      nextEngine)
  }

  test("a join over a finished broadcast is planned again with the rest of the query") {
    withConf(
      adaptive(true),
      Threshold -> "-1",
      // A table of one partition is joined without a shuffle, behind which there is nothing to plan.
      SQLConf.LEAF_NODE_DEFAULT_PARALLELISM.key -> "2",
      SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"
    ) {
      for (on <- Seq(keyed && ofLong, keyed && ofString); joinType <- Seq("inner", "left")) {
        def df = l.join(r.hint("broadcast"), on, joinType).select("l.id", "l.k", "r.t").as("a")
          .join(table(90, 6).as("x"), expr("a.id = x.id"))
        val query = df
        assert(nodes[SortMergeJoinExec](query).size == 1, executedPlan(query))
        assertSameRows(rows(query), expected(df), joinType)
        assert(broadcastJoins(query).size == 1, executedPlan(query))
        assert(nodes[BroadcastHashJoinExec](query).size == 1, executedPlan(query))
      }
    }
  }
}

object BroadcastBoundsSuite {
  private val Counted = new AtomicLong

  /** The value itself; each call is counted, in a local session. */
  private def counted(t: Long): Long = {
    Counted.incrementAndGet()
    t
  }
}
