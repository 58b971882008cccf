// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.debug.codegenStringSeq
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastTables

/** The code of long residuals: how large its methods are beside stock's, and that it is right. */
class MethodSizeSuite extends BroadcastTables {

  /** What HotSpot compiles at most. */
  private val HugeMethod = 8000

  private val operators = Seq("broadcast" -> "10MB", "sort-merge" -> "-1")

  private val joinTypes = Seq("inner", "left", "right", "left_semi", "left_anti", "exists")

  private def joinTypesOf(operator: String): Seq[String] =
    if (operator == "sort-merge") joinTypes :+ "full" else joinTypes

  /** Compiling them takes long: the most for a join that goes on after a match, and one that stops. */
  private def numbersOfTerms(joinType: String): Seq[Int] =
    if (Set("inner", "left_semi")(joinType)) Seq(0, 5, 60) else Seq(0, 5)

  private def withHints(operator: String): (String, String) =
    SQLConf.DISABLE_HINTS.key -> (operator == "sort-merge").toString

  private def terms(n: Int): String =
    if (n == 0) ""
    else (1 to n).map(i => s"(l.id * $i + r.id) % 109 = $i").mkString(" AND (", " OR ", ")")

  private def joined(joinType: String, residual: String): DataFrame = {
    l.createOrReplaceTempView("l")
    r.createOrReplaceTempView("r")
    val on = s"l.k = r.k AND $within $residual"
    joinType match {
      case "exists" =>
        spark.sql(s"SELECT id FROM l WHERE id < 3 OR EXISTS (SELECT 1 FROM r WHERE $on)")
      case "right" => l.hint("broadcast").join(r, expr(on), "right")
      case other   => l.join(r, expr(on), other)
    }
  }

  private def largestMethod(df: DataFrame): Int = {
    val sizes = codegenStringSeq(executedPlan(df)).map(_._3.maxMethodCodeSize)
    // One that does not compile has no size.
    assert(sizes.nonEmpty && sizes.forall(_ > 0))
    sizes.max
  }

  for ((operator, threshold) <- operators) {
    test(
      s"the largest method is hardly larger than stock's, and is compiled: $operator",
      slowIf(operator == "broadcast"): _*) {
      withConf(Threshold -> threshold, adaptive(false), withHints(operator)) {
        for (joinType <- joinTypesOf(operator); n <- numbersOfTerms(joinType)) {
          def df = joined(joinType, terms(n))
          assert(plannedJoins(df) == 1, executedPlan(df))
          val stock = withConf(Flag -> "false")(largestMethod(df))
          val ours = largestMethod(df)
          assert(ours <= 1.1 * stock, s"$joinType, $n terms: $ours bytes, stock $stock")
          assert(ours < HugeMethod, s"$joinType, $n terms")
        }
      }
    }

    test(s"a long residual has the rows of stock: $operator") {
      withConf(Threshold -> threshold, withHints(operator)) {
        for (joinType <- oneIn(3)(joinTypesOf(operator))) {
          checkAgainstStock(joined(joinType, terms(30)), engines = Seq(Seq(adaptive(false))))
        }
      }
    }

    test(
      s"every part of a residual in a method of its own, whatever it is: $operator",
      slowIf(operator == "broadcast"): _*) {
      // Each in one type of join.
      val residuals = Seq(
        "NOT (l.n = r.n AND l.s < r.s) OR coalesce(l.n, r.n, 3) IN (1, r.id, l.n + 1)" -> "inner",
        "r.id % 3 < l.id AND CASE WHEN l.n > 2 THEN r.s WHEN r.n IS NULL THEN l.s END LIKE 'a%'" -> "left",
        "if(l.n IS NULL, r.d, l.d) < cast(r.id AS DECIMAL(20, 2)) OR l.p.x = r.p.x" -> "left_semi",
        "(l.n IS NOT NULL) = (r.n IS NOT NULL) AND (r.t > 10 OR l.t IS NULL OR l.n <=> r.n)" -> "left_anti",
        "l.id > 5 OR r.id > 5" -> "inner",
        "1 = 1 OR l.id = r.id" -> "left",
        "concat(l.s, r.s) > 'b' AND (l.d / 2 > r.n OR array_contains(array(l.n, r.n), 4))" -> "left_semi"
      )
      withConf(Threshold -> threshold, SQLConf.CODEGEN_METHOD_SPLIT_THRESHOLD.key -> "1") {
        val (a, b) = (wide(1, 120).as("l"), wide(2, 90).as("r"))
        for (((residual, joinType), i) <- residuals.zipWithIndex) {
          // Before the range, or behind it: the condition keeps the order.
          val on = if (i % 2 == 0) s"($residual) AND $within" else s"$within AND ($residual)"
          checkAgainstStock(a.join(b, expr(s"l.k = r.k AND $on"), joinType), engines = nextEngine)
        }
      }
    }

    test(
      s"a residual that reads more columns than a method has parameters: $operator",
      slowIf(operator == "broadcast"): _*) {
      val many = 200
      def columns(df: DataFrame) =
        df.select(col("*") +: (0 until many).map(i => (col("id") + i).as(s"c$i")): _*)
      val sums = Seq("l", "r").map(side => (0 until many).map(i => s"$side.c$i").mkString(" + "))
      val residual = s"(${sums.head} + ${sums.last}) % 3 = 1"
      withConf(Threshold -> threshold) {
        val df = columns(table(60, 1)).as("l").join(
          columns(table(50, 2)).as("r"),
          expr(s"l.k = r.k AND $within AND $residual"))
        checkAgainstStock(df.select("l.id", "r.id"), engines = Seq(Seq(adaptive(false))))
      }
    }

    test(s"what a residual raises, or does not for what is before it: $operator") {
      withConf(
        Threshold -> threshold,
        SQLConf.CODEGEN_METHOD_SPLIT_THRESHOLD.key -> "1",
        SQLConf.ANSI_ENABLED.key -> "true"
      ) {
        val raising = "1 / (r.id % 2) > 0"
        for (on <- Seq(
            s"r.id % 2 <> 0 AND $raising AND $within",
            s"r.id % 2 <> 0 AND $within AND $raising",
            s"$within AND (r.id % 2 = 0 OR $raising)"
          )) {
          checkAgainstStock(l.join(r, expr(s"l.k = r.k AND $on")), engines = nextEngine)
        }
        val failing = l.join(r, expr(s"l.k = r.k AND $within AND $raising"))
        assert(plannedJoins(failing) == 1)
        val raised = causes(intercept[Exception](failing.collect()))
          .collect { case e: ArithmeticException => e.getMessage }.toSeq
        assert(raised.exists(_.contains("DIVIDE_BY_ZERO")), raised)
      }
    }
  }

  private def wide(seed: Int, rows: Int): DataFrame = table(rows, seed).selectExpr(
    "id",
    "k",
    "t",
    "nullif(id % 7, 3) AS n",
    "if(id % 5 = 0, NULL, concat(char(97 + id % 3), id)) AS s",
    "cast(id % 11 AS DECIMAL(12, 2)) AS d",
    "named_struct('x', id % 4, 'y', t) AS p"
  )
}
