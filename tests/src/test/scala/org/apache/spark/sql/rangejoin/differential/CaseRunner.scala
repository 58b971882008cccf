// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.condition.{JoinTypeBehavior, LeftSide, RightSide}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.partitioning.RangeBucketExec
import org.apache.spark.sql.rangejoin.shims.ClassicSession.{Dataset, SparkSession}
import org.apache.spark.sql.rangejoin.shuffled.ShuffledRangeJoinExec
import org.apache.spark.sql.rangejoin.skew.SkewReshuffleExec

/**
 * What became of a case.
 *
 * @param planned whether stock Spark's join was replaced by a range join
 * @param stock what stock Spark gave
 * @param fault what is wrong, if anything
 * @param kinds the kinds of range joins that took its place
 */
case class CaseResult(
    join: JoinCase,
    planned: Boolean,
    stock: Outcome,
    fault: Option[String],
    kinds: Seq[String] = Nil
)

/**
 * Runs cases: each as a range join under its engines, against stock Spark in the same session, and
 * where it is small against [[PairwiseJoin]].
 */
final class CaseRunner(spark: SparkSession) extends AdaptiveSparkPlanHelper {
  CaseFunctions.register(spark)

  def run(join: JoinCase): CaseResult = withConf(join.settings) {
    join.left.frame(spark).createOrReplaceTempView(join.left.name)
    join.right.frame(spark).createOrReplaceTempView(join.right.name)
    val stock = runStock(join, CaseRunner.Simplest)
    val oracle = pairwise(join).flatMap {
      // Stock Spark asks fewer pairs as well.
      case e: Raised if e.byQuery => None
      case rows                   =>
        stock match {
          case e: Raised if e.byQuery => None
          case _                      => Judge.fault(rows, stock)
        }
    }
    val runs = join.engines.map(engine => runRange(join, engine, stock))
    val faults = oracle.map("stock against pairs: " + _).toSeq ++ runs.flatMap(_._2)
    CaseResult(
      join,
      runs.forall(_._1.isDefined),
      stock,
      faults.reduceOption(_ + "\n" + _),
      runs.flatMap(_._1).distinct)
  }

  private def runStock(join: JoinCase, engine: Seq[(String, String)]): Outcome =
    withConf(engine :+ (RangeJoinConf.Enabled.key -> "false")) {
      outcome(execution(join))
    }

  /** The kind of range join it was planned as, and what is wrong with the rows. */
  private def runRange(
      join: JoinCase,
      engine: Seq[(String, String)],
      stock: Outcome
  ): (Option[String], Option[String]) = withConf(engine) {
    try {
      val query = execution(join)
      // Before it runs: adaptive execution drops a join of which a side turns out to be empty.
      val joins = collect(query.executedPlan) {
        case j: SortMergeRangeJoinExec => j
        case j: BroadcastRangeJoinExec => j
        case j: ShuffledRangeJoinExec  => j
      }
      if (joins.isEmpty) (None, None)
      else {
        def wrongRows = Judge.fault(stock, outcome(query))
          // Stock Spark's own engines may differ in what they ask, and so raise.
          .flatMap(_ => Judge.fault(runStock(join, engine), outcome(execution(join))))
        val fault = wrongType(join, joins.head).orElse(wrongRows)
        val settings = engine.map { case (key, value) => s"$key=$value" }.mkString(", ")
        val isSplit = collect(query.executedPlan) { case b: SkewReshuffleExec => b }.nonEmpty
        (
          Some(if (isSplit) "sort-merge, keys split" else kindOf(joins.head)),
          fault.map(f => s"$f\n  under $settings\n  ${joins.head.simpleString(100)}"))
      }
    } catch {
      case NonFatal(e) =>
        // Spark may fold constants that overflow, with and without range joins.
        val fault = Judge.fault(stock, Raised(e))
        (None, fault.map(f => s"under $engine: not planned: ${Raised(e).message}: $f"))
    }
  }

  private def kindOf(node: BaseJoinExec): String =
    if (isPreserved(node)) "broadcast, preserved side"
    else if (node.leftKeys.isEmpty) "broadcast, without keys"
    else if (node.leftKeys.exists(RangeBucketExec.isBucket)) "sort-merge, by buckets"
    else if (node.isInstanceOf[BroadcastRangeJoinExec]) "broadcast"
    else if (node.isInstanceOf[ShuffledRangeJoinExec]) "shuffled"
    else "sort-merge"

  private def isPreserved(node: BaseJoinExec): Boolean = node match {
    case join: BroadcastRangeJoinExec =>
      val streamed = if (join.buildSide == BuildRight) LeftSide else RightSide
      JoinTypeBehavior.of(join.joinType, streamed).exists(_.marksBuffered)
    case _ => false
  }

  private def wrongType(join: JoinCase, node: BaseJoinExec): Option[String] =
    node.joinType match {
      case t if t == join.form.logical => None
      // Spark takes some correlated subqueries apart, and joins what is left as it sees fit.
      case _
          if join.form == JoinForm.ExistenceForm || join.query.asked == Asked.AsValue ||
            join.query.sql.contains("EXISTS (") => None
      case other => Some(s"a ${join.form} join is planned as $other")
    }

  private def pairwise(join: JoinCase): Option[Outcome] = {
    val small = join.left.rows.size * join.right.rows.size <= CaseRunner.MostPairs
    if (small && !join.query.above) {
      withConf(Seq("spark.sql.alwaysInlineCommonExpr" -> "true")) {
        Some(attempt(PairwiseJoin.rows(spark, join)))
      }
    } else None
  }

  /** Raises where the query cannot be resolved. */
  private def execution(join: JoinCase): QueryExecution =
    spark.sql(join.query.sql).asInstanceOf[Dataset[_]].queryExecution

  /** Catalyst rows: to collect rows of Spark's API would compile a decoder for every case. */
  private def outcome(execution: => QueryExecution): Outcome = attempt {
    val query = execution
    val types = query.analyzed.output.map(_.dataType)
    SQLExecution
      .withNewExecutionId(query)(query.executedPlan.executeCollect())
      .map(row => SqlLiteral.show(row.toSeq(types), types))
      .toSeq
      .sorted
  }

  private def attempt(rows: => Seq[String]): Outcome =
    try Gave(rows)
    catch { case NonFatal(e) => Raised(e) }

  private def withConf[T](settings: Seq[(String, String)])(block: => T): T = {
    val before = settings.map { case (key, _) => key -> spark.conf.getOption(key) }
    settings.foreach { case (key, value) => spark.conf.set(key, value) }
    try block
    finally before.foreach {
        case (key, Some(value)) => spark.conf.set(key, value)
        case (key, None)        => spark.conf.unset(key)
      }
  }
}

object CaseRunner {

  /** More pairs take longer than the rest of a case. */
  private val MostPairs = 3600

  /** Stock Spark without compilation and without adaptive execution. */
  private val Simplest: Seq[(String, String)] = RangeJoinTest.Engines.last
}
