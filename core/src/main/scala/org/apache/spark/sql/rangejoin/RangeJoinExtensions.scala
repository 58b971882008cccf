// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.SPARK_VERSION
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan, SparkStrategy}
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.guard.Guard.Part
import org.apache.spark.sql.rangejoin.guard.{
  Guard,
  Guarded,
  GuardedReadRule,
  GuardedRule,
  GuardedStrategy
}
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
  NumberByGenerator,
  OptimizeNumberedRows,
  RewriteAfterCacheLookup,
  RewrittenAfterCacheLookup
}
import org.apache.spark.sql.rangejoin.shims.{BuiltFor, ClassicSession, Hints}
import org.apache.spark.sql.rangejoin.skew.SplitSkewedKeys
import org.apache.spark.sql.rangejoin.sortedtables.SortPreparedWrites
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}

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
 * | [[NumberByGenerator]]        | optimizer: pre-CBO rule, after the one above                |
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
 * On a Spark it was not made for it does nothing but warn, once. What fails on a Spark that has been changed is switched
 * off ([[Guard]]).
 */
class RangeJoinExtensions extends (SparkSessionExtensions => Unit) {
  import Guarded._
  import RangeJoinExtensions._

  override def apply(extensions: SparkSessionExtensions): Unit = Guard.entering {
    if (!supports(SPARK_VERSION)) warnOnce(SPARK_VERSION)
    else if (Guard.mayRegister) register(extensions)
  }

  /** A rule when it is first applied; tests put others in its place. */
  protected def made: (Part, () => AnyRef) => AnyRef = (_, rule) => rule()

  private def register(extensions: SparkSessionExtensions): Unit = {
    registerSettings()
    Hints.inject(
      extensions,
      logical(Part("hint.ResolveRangeJoinHint"))(_ => any(ResolveRangeJoinHint)))
    extensions.injectPostHocResolutionRule(
      logical(Part("hint.KeepRangeJoinHint"))(_ => any(KeepRangeJoinHint)))
    extensions.injectPlanNormalizationRule(
      logical(Rewrite)(_ => any(RewriteAfterCacheLookup)))
    extensions.injectOptimizerRule(
      logical(OptimizeNumbers, RewrittenAfterCacheLookup.removed(_))(_ =>
        any(OptimizeNumberedRows)))
    extensions.injectPreCBORule(
      logical(ofJoins("pushdown.InferRangeFilters"))(_ => any(InferRangeFilters)))
    extensions.injectPreCBORule(logical(ofJoins("plan.ServeDemand"))(_ => any(ServeDemand)))
    extensions.injectPreCBORule(logical(ofJoins("rewrite.FilterMatchesByKeys"))(session =>
      any(FilterMatchesByKeys(ClassicSession.of(session)))))
    extensions.injectPreCBORule(
      logical(ofJoins("rewrite.NumberByGenerator"))(_ => any(NumberByGenerator)))
    // First: a join over a stage that has begun for it is planned as that, and by no other strategy.
    extensions.injectPlannerStrategy(strategy(PlanBegun, keepBegun)(_ => any(PlanBegunStages)))
    extensions.injectPlannerStrategy(
      strategy(Mark)(session => any(MarkRangeJoins(ClassicSession.of(session)))))
    extensions.injectQueryStagePrepRule(session =>
      placing(session, physical(Part("plan.DeferShuffle"))(_ => any(DeferShuffle))))
    extensions.injectQueryStageOptimizerRule(
      readRule(Part("plan.ReadShufflesLocally"))(_ => any(ReadShufflesLocally)))
    extensions.injectQueryStageOptimizerRule(
      readRule(Part("skew.SplitSkewedKeys"))(_ => any(SplitSkewedKeys)))
    extensions.injectColumnar(session => new BeforeTransitions(placing(session)))
  }

  /** In their order, under adaptive execution and without. */
  private def placing(session: SparkSession, last: Of[Rule[SparkPlan]]*): Rule[SparkPlan] = {
    val rules = Seq(
      physical(Place, keepUnplaced)(_ => any(PlaceRangeJoins)),
      physical(Part("plan.MatchesInPlace"))(_ => any(MatchesInPlace)),
      physical(Part("plan.KeepStreamedOrder"))(_ => any(KeepStreamedOrder)),
      physical(Part("pushdown.PruneScans"))(_ => any(PruneScans)),
      physical(Part("sortedtables.SortPreparedWrites"))(_ => any(SortPreparedWrites)),
      physical(Part("pushdown.PruneByIndexedKeys"))(_ => any(PruneByIndexedKeys))
    ) ++ last
    physical(
      WithJoins,
      keepUnplaced)(session => any(WithRangeJoins(rules.map(_(session)))))(session)
  }

  /**
   * A rule as an object of any class: the JVM looks at the classes of rules when it links a closure that is known to
   * return one, which is before the guard is there.
   */
  private def any(rule: AnyRef): AnyRef = rule

  private def logical(part: Part, unwound: LogicalPlan => LogicalPlan = identity)(
      rule: Of[AnyRef]): Of[Rule[LogicalPlan]] =
    session => new GuardedRule(Guard.of(session), part, made(part, () => rule(session)), unwound)

  private def physical(part: Part, unwound: SparkPlan => SparkPlan = identity)(
      rule: Of[AnyRef]): Of[Rule[SparkPlan]] =
    session => new GuardedRule(Guard.of(session), part, made(part, () => rule(session)), unwound)

  private def readRule(part: Part)(rule: Of[AnyRef]): Of[Rule[SparkPlan]] =
    session => new GuardedReadRule(Guard.of(session), part, made(part, () => rule(session)))

  private def strategy(part: Part, unwound: LogicalPlan => Unit = _ => ())(
      rule: Of[AnyRef]): Of[SparkStrategy] =
    session =>
      new GuardedStrategy(Guard.of(session), part, made(part, () => rule(session)), unwound)
}

object RangeJoinExtensions extends Logging {

  /** Something of a session. */
  private type Of[T] = SparkSession => T

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

  private def registerSettings(): Unit =
    (RangeJoinConf.all ++ InternalConf.all).foreach(entry => logDebug(s"Registered ${entry.key}"))

  private class BeforeTransitions(rule: Rule[SparkPlan]) extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = rule
  }
}
