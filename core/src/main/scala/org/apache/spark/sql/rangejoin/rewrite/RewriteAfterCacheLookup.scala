// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.PartialFunction.cond

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.guard.{Guard, Guarded}

/**
 * Finds the parts of a query that may have as-of joins, correlated subqueries or pairs [[JoinedBack]] to be rewritten as
 * range joins, and puts a [[RewrittenAfterCacheLookup]] on top of each.
 *
 * Runs between analysis and optimizer (a plan normalization rule), which is before Spark looks for parts of the query in
 * its cache. So nothing may be rewritten yet: a cached part is found by its plan, and would depend on settings and on
 * what stands beside it.
 */
object RewriteAfterCacheLookup extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!isOn(conf) || !mayBeRewritten(plan) || plan.isStreaming) plan
    else {
      val result = marked(plan, isFileAsked(plan))
      // What is cached is planned again when a table changes, and not analyzed again.
      if (plan.analyzed) result.setAnalyzed()
      result
    }

  private[rewrite] def isOn(conf: SQLConf): Boolean =
    conf.getConf(RangeJoinConf.Enabled) && conf.getConf(RangeJoinConf.Correlated)

  private def marked(plan: LogicalPlan, isFileAsked: Boolean): LogicalPlan = plan match {
    // Of a plan that has been executed before.
    case again: RewrittenAfterCacheLookup                             => again.copy(isCopy = false)
    case part if !part.isInstanceOf[Command] && isRewrittenHere(part) =>
      RewrittenAfterCacheLookup(part, isFileAsked)
    case other if mayBeRewritten(other) => other.mapChildren(marked(_, isFileAsked))
    case other                          => other
  }

  private def mayBeRewritten(plan: LogicalPlan): Boolean =
    asksOfRows(plan) || JoinedBack.mayBeIn(plan)

  private def asksOfRows(plan: LogicalPlan): Boolean =
    plan.containsAnyPattern(AS_OF_JOIN, PLAN_EXPRESSION, LATERAL_JOIN)

  /** Common table expressions are rewritten together with what reads them. */
  private def isRewrittenHere(plan: LogicalPlan): Boolean = plan match {
    case _: AsOfJoin | _: LateralJoin                => true
    case join: Join if JoinedBack.of(join).isDefined => true
    case ctes: WithCTE => asksOfRows(ctes) || JoinedBack.mayBeRead(ctes)
    case other         => other.expressions.exists(_.containsPattern(PLAN_EXPRESSION))
  }

  /** Whether a query asks which file a row is from: where the matches of a row end, the next row has been read. */
  private def isFileAsked(plan: LogicalPlan): Boolean =
    plan.collectWithSubqueries {
      case node if node.expressions.exists(_.exists(isOfFile)) => node
    }.nonEmpty

  private def isOfFile(e: Expression): Boolean =
    cond(e) { case _: InputFileName | _: InputFileBlockStart | _: InputFileBlockLength => true }
}

/**
 * A part of a query, which becomes range joins when Spark has looked for it in the cache. To Spark's cache it is the same
 * as the part itself: it has its canonical form, and the part is its child.
 *
 * Spark has no hook between the cache and the optimizer. But it copies the plan of a query twice, before either of them,
 * so the second copy is the rewritten part. If a Spark should not copy it as often, [[OptimizeNumberedRows]] removes this
 * node, and the part is Spark's own.
 *
 * @param isFileAsked whether the query asks for the file of a row; then its subqueries are left alone
 */
case class RewrittenAfterCacheLookup(
    child: LogicalPlan,
    isFileAsked: Boolean,
    isCopy: Boolean = false) extends UnaryNode {

  override def output: Seq[Attribute] = child.output

  override protected def doCanonicalize(): LogicalPlan = child.canonicalized

  override def clone(): LogicalPlan = {
    val copied = child.clone()
    if (!isCopy) copy(child = copied, isCopy = true)
    else if (RewriteAfterCacheLookup.isOn(SQLConf.get)) {
      Guard.of(SparkSession.getActiveSession.orNull)
        .run[LogicalPlan](
          RewrittenAfterCacheLookup.Rewriting,
          _.fastEquals(copied))(copied)(rewritten(copied))
    } else copied
  }

  /**
   * A number of a row is not deterministic, and the optimizer does not inline a common table expression that is not: one
   * that is read several times would be computed and shuffled as a whole, whatever is read of it. So these are inlined
   * before rows are numbered. And whether two readers read the same rows shows where these are inlined.
   */
  private def rewritten(part: LogicalPlan): LogicalPlan = {
    def joined(plan: LogicalPlan) = JoinMatches(JoinedBack(plan), !isFileAsked)
    val found = joined(part)
    if (!part.containsPattern(CTE) || found.fastEquals(part) && !JoinedBack.mayBeIn(part)) found
    else {
      val inlined = InlineCTE()(part)
      val foundThere = joined(inlined)
      if (foundThere.fastEquals(inlined)) part else foundThere
    }
  }

  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan =
    copy(child = newChild)

  // Nodes cannot have patterns of their own. No other node has this one once a query is analyzed.
  override val nodePatterns: Seq[TreePattern] = Seq(RewrittenAfterCacheLookup.Pattern)
}

private[rangejoin] object RewrittenAfterCacheLookup {
  private val Pattern: TreePattern = NATURAL_LIKE_JOIN

  private val Rewriting = Guarded.ofJoins("rewrite.JoinMatches")

  /** A plan whose parts are Spark's own again, or rewritten already. */
  def removed(plan: LogicalPlan): LogicalPlan =
    plan.transformDownWithPruning(_.containsPattern(Pattern)) {
      case part: RewrittenAfterCacheLookup => part.child
    }
}
