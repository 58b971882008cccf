// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest
import org.apache.spark.sql.rangejoin.shims.ClassicSession.Dataset

import org.scalatest.Outcome

/** Runs the tests of a suite where Spark broadcasts a side, and every group of rows is searched, by two ranges if it can. */
trait Broadcasting extends RangeJoinTest {

  protected val Threshold: String = SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key

  protected def settings: Settings =
    Seq(
      Threshold -> "10MB",
      InternalConf.LinearScanThreshold.key -> "0",
      InternalConf.SecondRangeThreshold.key -> "1")

  override protected def withFixture(test: NoArgTest): Outcome =
    withConf(settings: _*)(super.withFixture(test))

  protected def broadcastJoins(df: DataFrame): Seq[BroadcastRangeJoinExec] =
    collect(executedPlan(df)) { case join: BroadcastRangeJoinExec => join }

  override protected def plannedJoins(df: DataFrame): Int =
    broadcastJoins(df).size + super.plannedJoins(df)
}

/**
 * The same for the rules of meaning; each case under one engine, for there are many. Where the rows
 * are written down stock Spark is not asked again: the suite that is repeated here has done so.
 */
trait BroadcastSemantics extends SemanticsTest with Broadcasting {
  override protected def repeatsTests: Boolean = true

  override protected def bothEngines: Seq[Settings] = nextEngine

  override protected def checkRows(
      query: => DataFrame,
      written: Seq[String],
      engines: Seq[Settings]): Unit =
    if (RangeJoinTest.EveryEngine) super.checkRows(query, written, engines)
    else checkRangeJoins(query, written, 1, engines)
}

/**
 * Of two suites that repeat the rules, one with and one without a key: each case that is written is
 * in one of them, always the same, and in both for `make test-engines`.
 */
trait InTurns extends BroadcastSemantics {
  protected def withoutKeys: Boolean = false

  override protected def check(range: String, joinTypes: Seq[String])(pairs: (Int, Int)*): Unit = {
    def isMine(joinType: String): Boolean =
      RangeJoinTest.EveryEngine || joinType == SemanticsTest.FullOuter ||
        (s"${spark.table("l").schema.sql}$range$joinType".hashCode % 2 == 0) == withoutKeys
    super.check(range, joinTypes.filter(isMine))(pairs: _*)
  }
}

/** As a range beside a key, but so that Spark finds no key. */
trait WithoutKeys extends InTurns {
  override protected def withoutKeys: Boolean = true

  override protected def keyed(range: String): String = s"coalesce(l.k = r.k, false) AND $range"
}

/**
 * As without keys, where the size of one side alone is known: Spark broadcasts that side, whichever the
 * join preserves. Join types that do not preserve it are left to the other suites.
 */
trait PreservedSide extends BroadcastSemantics {

  /** The side that is known to be small. */
  protected def small: String

  private def preserving: Seq[String] =
    if (small == "r") Seq(SemanticsTest.RightOuter, SemanticsTest.FullOuter)
    else SemanticsTest.JoinTypes.diff(Seq(SemanticsTest.Inner, SemanticsTest.RightOuter))

  override protected def table(name: String, columns: String)(rows: String*): Unit = {
    super.table(name, columns)(rows: _*)
    if (name != small) {
      val table = spark.table(name).asInstanceOf[Dataset[_]]
      // Spark takes what it knows nothing of to be large.
      spark.internalCreateDataFrame(table.queryExecution.toRdd.map(_.copy()), table.schema)
        .createOrReplaceTempView(name)
    }
  }

  override protected def keyed(range: String): String = s"coalesce(l.k = r.k, false) AND $range"

  override protected def check(range: String, joinTypes: Seq[String])(pairs: (Int, Int)*): Unit = {
    val kept = joinTypes.intersect(preserving)
    super.check(range, if (kept.isEmpty) preserving.take(1) else kept)(pairs: _*)
  }

  /** A join that preserves the broadcast side has it broadcast, and not the other one. */
  override protected def assertPlanned(df: DataFrame, joins: Int, settings: Settings): Unit = {
    super.assertPlanned(df, joins, settings)
    val side = if (small == "l") BuildLeft else BuildRight
    for (join <- broadcastJoins(df) if join.leftKeys.isEmpty) {
      assert(join.buildSide == side, executedPlan(df))
    }
  }
}

trait PreservedLeft extends PreservedSide {
  override protected def small: String = "l"
}

trait PreservedRight extends PreservedSide {
  override protected def small: String = "r"
}
