// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.SPARK_VERSION
import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.hint.{KeepRangeJoinHint, ResolveRangeJoinHint}
import org.apache.spark.sql.rangejoin.plan.{
  DeferShuffle,
  KeepStreamedOrder,
  MarkRangeJoins,
  MatchesInPlace,
  PlaceRangeJoins,
  PlanBegunStages,
  ReadShufflesLocally,
  ServeDemand,
  WithRangeJoins
}
import org.apache.spark.sql.rangejoin.pushdown.{InferRangeFilters, PruneByIndexedKeys, PruneScans}
import org.apache.spark.sql.rangejoin.rewrite.{
  FilterMatchesByKeys,
  OptimizeNumberedRows,
  RewriteAfterCacheLookup
}
import org.apache.spark.sql.rangejoin.shims.{BuiltFor, ClassicSession, Hints}
import org.apache.spark.sql.rangejoin.skew.SplitSkewedKeys
import org.apache.spark.sql.rangejoin.sortedtables.SortPreparedWrites

/**
 * The way in: name this class in `spark.sql.extensions`. Where each rule fires:
 *
 * | rule                         | when                                                        |
 * |:-----------------------------|:------------------------------------------------------------|
 * | [[ResolveRangeJoinHint]]     | analysis: with Spark's join hints; in Hive sessions, later  |
 * | [[KeepRangeJoinHint]]        | analysis: when relations are resolved                       |
 * | [[RewriteAfterCacheLookup]]  | between analysis and cache lookup, once for each query      |
 * | [[OptimizeNumberedRows]]     | optimizer: with Spark's rules for filters and columns       |
 * | [[InferRangeFilters]]        | optimizer: pre-CBO rule, after predicate pushdown           |
 * | [[ServeDemand]]              | optimizer: pre-CBO rule, after the one above                |
 * | [[FilterMatchesByKeys]]      | optimizer: pre-CBO rule, after the one above                |
 * | [[MarkRangeJoins]]           | planner strategy: marks the joins Spark has chosen          |
 * | [[PlanBegunStages]]          | planner strategy: joins over stages that have begun         |
 * | [[ReadShufflesLocally]]      | adaptive execution: stage about to run                      |
 * | [[SplitSkewedKeys]]          | adaptive execution: stage about to run, sizes known         |
 * | [[PlaceRangeJoins]]          | adaptive execution: stage preparation rule, in this order   |
 * | [[MatchesInPlace]]           | adaptive execution: stage preparation rule, in this order   |
 * | [[KeepStreamedOrder]]        | adaptive execution: stage preparation rule, in this order   |
 * | [[PruneScans]]               | adaptive execution: stage preparation rule, in this order   |
 * | [[SortPreparedWrites]]       | adaptive execution: stage preparation rule, in this order   |
 * | [[PruneByIndexedKeys]]       | adaptive execution: stage preparation rule, in this order   |
 * | [[DeferShuffle]]             | adaptive execution: last stage preparation rule             |
 *
 * Without adaptive execution, the rules from [[PlaceRangeJoins]] to [[PruneByIndexedKeys]] run in
 * the same order before columnar transitions and code generation. Preparation rules are one rule to Spark
 * ([[WithRangeJoins]]), which has one look at a plan without a range join.
 *
 * On a Spark it was not made for it does nothing but warn, once.
 */
class RangeJoinExtensions extends (SparkSessionExtensions => Unit) with Logging {

  override def apply(extensions: SparkSessionExtensions): Unit =
    if (RangeJoinExtensions.supports(SPARK_VERSION)) {
      (RangeJoinConf.all ++ InternalConf.all).foreach(entry => logDebug(s"Registered ${entry.key}"))
      Hints.inject(extensions, ResolveRangeJoinHint)
      extensions.injectPostHocResolutionRule(_ => KeepRangeJoinHint)
      extensions.injectPlanNormalizationRule(_ => RewriteAfterCacheLookup)
      extensions.injectOptimizerRule(_ => OptimizeNumberedRows)
      extensions.injectPreCBORule(_ => InferRangeFilters)
      extensions.injectPreCBORule(_ => ServeDemand)
      extensions.injectPreCBORule(session => FilterMatchesByKeys(ClassicSession.of(session)))
      // First: a join over a stage that has begun for it is planned as that, and by no other strategy.
      extensions.injectPlannerStrategy(_ => PlanBegunStages)
      extensions.injectPlannerStrategy(session => MarkRangeJoins(ClassicSession.of(session)))
      extensions.injectQueryStagePrepRule(_ => RangeJoinExtensions.StagePreparation)
      extensions.injectQueryStageOptimizerRule(_ => ReadShufflesLocally)
      extensions.injectQueryStageOptimizerRule(_ => SplitSkewedKeys)
      extensions.injectColumnar(_ => RangeJoinExtensions.BeforeTransitions)
    } else {
      RangeJoinExtensions.warnOnce(SPARK_VERSION)
    }
}

object RangeJoinExtensions extends Logging {

  private var warned = false

  /** Whether this jar is for a version of Spark: by `major.minor`, whatever the release. */
  private[rangejoin] def supports(sparkVersion: String): Boolean =
    BuiltFor.lines.exists(line => sparkVersion == line || sparkVersion.startsWith(line + "."))

  private[rangejoin] def warnOnce(sparkVersion: String): Unit = synchronized {
    if (!warned) {
      warned = true
      logWarning(
        s"spark-range-join is built for Spark ${BuiltFor.lines.mkString(" and ")} and this is Spark " +
          s"$sparkVersion: joins are planned by stock Spark. Use the jar built for this version.")
    }
  }

  /**
   * In their order, under adaptive execution and without. Lazy: on a Spark of another Scala there are not the
   * classes to make it, and this object has to warn there.
   */
  private lazy val LatePlacement: Seq[Rule[SparkPlan]] = Seq(
    PlaceRangeJoins,
    MatchesInPlace,
    KeepStreamedOrder,
    PruneScans,
    SortPreparedWrites
  )

  private lazy val StagePreparation: Rule[SparkPlan] =
    WithRangeJoins(LatePlacement :+ PruneByIndexedKeys :+ DeferShuffle)

  private object BeforeTransitions extends ColumnarRule {
    override lazy val preColumnarTransitions: Rule[SparkPlan] =
      WithRangeJoins(LatePlacement :+ PruneByIndexedKeys)
  }
}
