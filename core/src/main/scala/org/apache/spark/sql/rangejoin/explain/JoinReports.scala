// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.explain

import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, Inner, JoinType}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AdaptiveSparkPlanHelper}
import org.apache.spark.sql.execution.columnar.{CachedRDDBuilder, InMemoryTableScanExec}
import org.apache.spark.sql.execution.joins.{
  BaseJoinExec,
  BroadcastHashJoinExec,
  BroadcastNestedLoopJoinExec,
  CartesianProductExec,
  ShuffledHashJoinExec
}
import org.apache.spark.sql.execution.{
  CommandResultExec,
  InputAdapter,
  QueryExecution,
  SparkPlan,
  WholeStageCodegenExec
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.best.BestMatches
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.guard.{Guard, Guarded}
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, RangeJoinExec}
import org.apache.spark.sql.rangejoin.partitioning.{ProbeExec, RangeBucketExec}
import org.apache.spark.sql.rangejoin.plan.{Demand, MarkRangeJoins}
import org.apache.spark.sql.rangejoin.shims.ClassicSession
import org.apache.spark.sql.rangejoin.shuffled.ShuffledRangeJoinExec

import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.compact

/**
 * Reports on the joins of a plan. They are derived from the plan and the settings alone, as planning
 * does it, so that they can be had of any plan at any time; only what planning decided by more than
 * that (see [[MarkRangeJoins.ReasonTag]]) is left on the node.
 */
object JoinReports extends AdaptiveSparkPlanHelper {

  /** All joins of a plan, its subqueries included, from the top of the plan. */
  def of(plan: SparkPlan): Seq[JoinReport] = {
    val isOver = Option(plan).exists(isFinal)
    found(plan).map { case Found(join, parent, aggregate, demand) =>
      val report = reportOf(join, aggregate, demand)
      report.copy(
        within = parent.map(_.name),
        hasRun = parent.fold(isOver)(_.hasRun) || report.hasFigures)
    }
  }

  /** Adaptive execution is at its end. Without it, a plan does not say whether it has run. */
  private def isFinal(plan: SparkPlan): Boolean =
    plan.collectFirst { case adaptive: AdaptiveSparkPlanExec => adaptive.isFinalPlan }
      .getOrElse(false)

  /** The reports on a query's plan as it is now: a JSON array of objects. */
  def json(query: QueryExecution): String =
    query.sparkSession.withActive(
      Guarded.report(query.sparkSession, "[]")(json(query.executedPlan)))

  /** The same, with an estimate of the pairs of each join, for which the inputs of joins are run. */
  def jsonWithEstimates(query: QueryExecution): String = query.sparkSession.withActive {
    Guarded.report(query.sparkSession, "[]") {
      withEstimates(query.sparkSession, query.executedPlan, Some(query.optimizedPlan))
    }
  }

  /** The reports with estimates on a plan that has not run, under the settings of its session. */
  def jsonWithEstimates(plan: SparkPlan): String =
    withEstimates(ClassicSession.of(plan.session), plan, None)

  private def withEstimates(
      session: ClassicSession.SparkSession,
      plan: SparkPlan,
      logical: Option[LogicalPlan]
  ): String = {
    // Spark explains the queries of an estimate, too, where it is asked to explain queries.
    val quiet = session.cloneSession()
    quiet.sessionState.conf.unsetConf("spark.sql.extendedExplainProviders")
    val estimates = quiet.withActive(PairEstimate.of(quiet, plan, logical))
    compact(of(plan).zip(estimates).map { case (report, estimate) =>
      report.copy(advice = report.advice ++ estimate.toSeq.flatMap(_.advice)).json ~
        ("sample" -> estimate.map(_.json))
    })
  }

  /** The reports on a plan as JSON, under the settings of the active session. */
  def json(plan: SparkPlan): String = compact(of(plan).map(_.json))

  /**
   * The joins to report on, and what contains them. Joins of cached data are reported once, where the cache is first
   * read; joins of a command that has run are reported in the command's position.
   */
  private def found(plan: SparkPlan): Seq[Found] = {
    var caches = Set.empty[CachedRDDBuilder]
    // Joins below a side that is measured, which are planned a second time for that.
    var measured = Seq.empty[SparkPlan]
    // Aggregates are visited before the joins below them.
    var aggregates = Seq.empty[AggregateMatchesExec]
    def within(plan: SparkPlan, parent: Option[Parent]): Seq[Found] =
      (plan +: subqueriesAll(plan)).flatMap(foundIn(_, parent, Demand.AllRows))
    def foundIn(node: SparkPlan, parent: Option[Parent], demand: Demand): Seq[Found] =
      foundAt(node, parent, demand) ++
        allChildren(node).flatMap(foundIn(_, parent, demandBelow(node, demand)))
    def foundAt(node: SparkPlan, parent: Option[Parent], demand: Demand): Seq[Found] = node match {
      case aggregate: AggregateMatchesExec =>
        aggregates +:= aggregate
        Nil
      case probe: ProbeExec =>
        measured ++= probe.child.collect { case join: BaseJoinExec => join }
        Nil
      case join: BaseJoinExec if measured.exists(_.eq(join)) => Nil
      case join: BaseJoinExec => Seq(Found(join, parent, aggregates.find(_.isOf(join)), demand))
      case join if join.nodeName == StreamingJoin => Seq(Found(join, parent, None, demand))
      case scan: InMemoryTableScanExec if !caches(scan.relation.cacheBuilder) =>
        caches += scan.relation.cacheBuilder
        val isThere = scan.relation.cacheBuilder.isCachedColumnBuffersLoaded
        within(scan.relation.cachedPlan, Some(Parent("cached data", isThere)))
      case CommandResultExec(_, command, _) =>
        within(command, Some(Parent("a command", hasRun = true)))
      case _ => Nil
    }
    Option(plan).toSeq.flatMap(within(_, None))
  }

  /** What is wanted of the children of a node; in a plan that is ready there is generated code between operators. */
  private def demandBelow(node: SparkPlan, demand: Demand): Demand = node match {
    case _: WholeStageCodegenExec | _: InputAdapter | _: CodegenBoundaryExec => demand
    case other                                                               => demand.below(other)
  }

  /** The same joins alone. */
  private[explain] def joins(plan: SparkPlan): Seq[SparkPlan] = found(plan).map(_.join)

  /**
   * @param aggregate what aggregates the matches of the join
   * @param demand what is wanted of its rows
   */
  private case class Found(
      join: SparkPlan,
      parent: Option[Parent],
      aggregate: Option[AggregateMatchesExec],
      demand: Demand)

  /** What a join is in, where that is not the plan itself. */
  private case class Parent(name: String, hasRun: Boolean)

  private val StreamingJoin = "StreamingSymmetricHashJoin"

  /** The conjuncts of the range of a join; empty for one of stock Spark. */
  private[explain] def rangeOf(join: SparkPlan): Seq[Expression] = reportOf(join).range

  private def reportOf(
      plan: SparkPlan,
      aggregate: Option[AggregateMatchesExec] = None,
      demand: Demand = Demand.AllRows
  ): JoinReport = plan match {
    case join: RangeJoinExec => report(join, join.normalForm, join.best, aggregate, demand)
    case join: BaseJoinExec  =>
      val reason = ColumnNumbers.of(join).fold(reasonOf(join))(numbers => reasonOf(numbers(join)))
      report(join, Left(reason))
    case join =>
      JoinReport(
        join.nodeName,
        Inner.sql,
        Nil,
        Nil,
        None,
        None,
        Some(Reason.Streaming),
        metrics = metricsOf(join))
  }

  private def report(
      join: BaseJoinExec,
      range: Either[Reason, RangeCondition],
      best: Option[BestMatches] = None,
      aggregate: Option[AggregateMatchesExec] = None,
      demand: Demand = Demand.AllRows
  ): JoinReport = {
    val sides =
      Side.Both.map(side => side -> SideFigures.of(side.of(join.left, join.right))).toMap
    val report = JoinReport(
      join.nodeName,
      nameOf(join.joinType),
      join.leftKeys.zip(join.rightKeys).filterNot { case (key, _) =>
        // Spark's own range join has there what the range compares.
        RangeBucketExec.isBucket(key) || isOfSpark(join)
      },
      range.toSeq.flatMap(_.predicates),
      range.fold(_ => join.condition, _.residual),
      range.toOption.map(_.streamed),
      range.left.toOption,
      range.exists(_.isOneSided),
      metricsOf(join) ++ aggregate.toSeq.flatMap(metricsOf) ++
        sides.values.flatMap(_.buckets).flatMap(bucketFigures),
      sides(LeftSide).rows,
      sides(RightSide).rows,
      Advice.of(join, range, best.isDefined || aggregate.isDefined, demand, sides) ++
        Guard.of(join.session).switchedOff,
      best = best,
      aggregated = aggregate.toSeq.flatMap(_.functions),
      owner =
        sides.collectFirst { case (side, figures) if figures.buckets.exists(_.isOwner) => side }
    )
    ColumnNumbers.of(join).fold(report)(_.apply(report))
  }

  /** There is no SQL for what EXISTS in a condition with OR becomes. */
  private def nameOf(joinType: JoinType): String = joinType match {
    case ExistenceJoin(_) => "EXISTENCE"
    case other            => other.sql
  }

  /**
   * The figures of the owner cover both sides; the other side contributes only its number of copies.
   */
  private def bucketFigures(buckets: RangeBucketExec): Map[String, Long] =
    metricsOf(buckets).filter { case (name, _) =>
      if (buckets.isOwner) name != "numOutputRows" else name == "numCopies"
    }

  private def metricsOf(plan: SparkPlan): Map[String, Long] =
    plan.metrics.map { case (name, metric) => name -> metric.value }

  /** Why a join is a stock join: what its condition lacks comes before what the plan or settings do. */
  private def reasonOf(join: BaseJoinExec): Reason =
    join.getTagValue(MarkRangeJoins.ReasonTag).getOrElse(join match {
      case _ if join.logicalLink.exists(_.isStreaming)               => Reason.Streaming
      case _ if isOfSpark(join)                                      => Reason.RangeJoinOfSpark
      case j: BroadcastHashJoinExec if j.isNullAwareAntiJoin         => Reason.NullAware
      case _: BroadcastHashJoinExec | _: BroadcastNestedLoopJoinExec =>
        val extracted = BroadcastRangeJoinExec.of(join).map(_.extracted)
        extracted.flatMap(_.left.toOption).getOrElse(switchedOff(join, RangeJoinConf.Broadcast))
      case hashed: ShuffledHashJoinExec =>
        ShuffledRangeJoinExec.of(hashed).extracted
          .fold(identity, _ => switchedOff(join, RangeJoinConf.Shuffled))
      case _ =>
        def notMarked =
          if (join.isInstanceOf[CartesianProductExec]) noKey(join) else switchedOff(join)
        RangeExtractor.extract(join).fold(identity, _ => notMarked)
    })

  private def isOfSpark(join: SparkPlan): Boolean =
    join.getClass.getName == Reason.RangeJoinOfSpark.Node

  private def noKey(join: SparkPlan): Reason =
    notOfThisSpark(join)
      .orElse(off(RangeJoinConf.Enabled, RangeJoinConf.RangePartitioning))
      .getOrElse(Reason.NoKey)

  private def notOfThisSpark(join: SparkPlan): Option[Reason] =
    Guard.of(join.session).whyOff(Guarded.Mark).map(Reason.NotOfThisSpark(_, Some(Guard.Remedy)))

  /** There is a range: a setting is in the way now, or was when the plan was made. */
  private def switchedOff(join: SparkPlan, others: ConfigEntry[Boolean]*): Reason =
    off(RangeJoinConf.Enabled +: others: _*)
      .orElse(notOfThisSpark(join))
      .getOrElse(Reason.PlannedOtherwise)

  private def off(entries: ConfigEntry[Boolean]*): Option[Reason] =
    entries.find(entry => !SQLConf.get.getConf(entry)).map(entry => Reason.SwitchedOff(entry.key))
}
