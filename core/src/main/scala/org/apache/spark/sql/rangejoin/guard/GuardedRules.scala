// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.guard

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.adaptive.{
  AQEShuffleReadRule,
  InvalidAQEPlanException,
  LogicalQueryStage,
  QueryStageExec
}
import org.apache.spark.sql.execution.exchange.ShuffleOrigin
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.rangejoin.guard.Guard.Part

/**
 * A rule of ours as Spark has it, under a [[Guard]]. The rule is made when it is first applied, so that a class that it
 * cannot be made without is not missed before.
 *
 * @param made the rule
 * @param unwound what is left of a plan where the rule is off: without what others of ours have put there for it
 */
private[rangejoin] class GuardedRule[P <: TreeNode[P]](
    guard: Guard,
    part: Part,
    made: => AnyRef,
    unwound: P => P) extends Rule[P] {

  override val ruleName: String = Guarded.Package + part.name

  private lazy val rule = made.asInstanceOf[Rule[P]]

  override def apply(plan: P): P = guard.run[P](part, _.eq(plan))(unwound(plan))(rule(plan))
}

/** Likewise one whose results adaptive execution tests, and takes back where they do not fit. */
private[rangejoin] class GuardedReadRule(guard: Guard, part: Part, made: => AnyRef)
    extends AQEShuffleReadRule {

  override val ruleName: String = Guarded.Package + part.name

  override protected def supportedShuffleOrigins: Seq[ShuffleOrigin] = Nil

  private lazy val rule = made.asInstanceOf[Rule[SparkPlan]]

  override def apply(plan: SparkPlan): SparkPlan =
    guard.run[SparkPlan](part, _.eq(plan))(plan)(rule(plan))
}

/** Likewise a strategy. */
private[rangejoin] class GuardedStrategy(
    guard: Guard,
    part: Part,
    made: => AnyRef,
    unwound: LogicalPlan => Unit) extends SparkStrategy {

  private lazy val strategy = made.asInstanceOf[SparkStrategy]

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    guard.run[Seq[SparkPlan]](part, _.isEmpty) {
      unwound(plan)
      Nil
    }(strategy(plan))
}

private[rangejoin] object Guarded {
  val Package = "org.apache.spark.sql.rangejoin."

  val WithJoins: Part = Part("plan.WithRangeJoins")
  val Place: Part = Part("plan.PlaceRangeJoins")
  val PlanBegun: Part = Part("plan.PlanBegunStages")

  /** Joins are not marked that would not be put in place, or could not be planned again. */
  val Mark: Part =
    Part("plan.MarkRangeJoins", Seq(WithJoins.name, Place.name, PlanBegun.name))

  /** It removes what [[Rewrite]] has put into a plan. */
  val OptimizeNumbers: Part = Part("rewrite.OptimizeNumberedRows")

  val Rewrite: Part = ofJoins("rewrite.RewriteAfterCacheLookup", OptimizeNumbers.name)

  /** What prepares a plan for range joins is in vain without them. */
  def ofJoins(name: String, others: String*): Part = Part(name, Mark.name +: (Mark.needs ++ others))

  /** What is said of a plan; nothing, which `empty` says, where that fails on this Spark. */
  def report(session: AnyRef, empty: String)(said: => String): String =
    Guard.of(session).run[String](Part("explain.JoinReports"), _ => true)(empty)(said)

  /**
   * Has adaptive execution go on with its current plan, if a stage of ours has begun below an operator that is to be
   * planned again: no node of Spark's can read what some of them have made.
   */
  def keepBegun(plan: LogicalPlan): Unit =
    (plan +: plan.children).foreach {
      case LogicalQueryStage(_, stage) if isOurs(stage) => keep(stage)
      case _                                            =>
    }

  /** Likewise where [[PlanBegun]] has put a node into the plan that [[Place]] is to replace. */
  def keepUnplaced(plan: SparkPlan): SparkPlan = {
    if (plan.exists(_.getClass.getName == Package + "broadcast.IndexedStageJoinExec")) keep(plan)
    plan
  }

  private def isOurs(plan: SparkPlan): Boolean = plan.exists {
    case stage: QueryStageExec => isOurs(stage.plan)
    case node                  => node.getClass.getName.startsWith(Package)
  }

  private def keep(plan: SparkPlan): Nothing =
    throw InvalidAQEPlanException(
      "Range joins are switched off, and a stage of one has begun",
      plan)
}
