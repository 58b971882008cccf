// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import java.util.concurrent.ConcurrentHashMap

import scala.annotation.tailrec

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeSet,
  Expression,
  NamedExpression,
  SortOrder
}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ReusedExchangeExec}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.rangejoin.conf.JobDescription
import org.apache.spark.sql.rangejoin.index.{RangeIndex, RangeIndexMode}

/**
 * Spark's exchange, whose job says what it is: it collects the rows of a range index. To every rule of
 * Spark it is the exchange it extends, and equal to one of the same rows and keys, whatever the bounds. What is
 * broadcast has the bounds of the first join; a join by others that uses it again has an index of its own made of it
 * on the driver, once for each set of bounds, and held as long as the first.
 *
 * @param bounds what is computed in the tasks that make the rows, as columns of `child`. Adaptive
 *   execution, which knows nothing of them, may put a child without them in its place
 */
class RangeIndexExchangeExec private (
    mode: RangeIndexMode,
    child: SparkPlan,
    bounds: Seq[NamedExpression]
) extends BroadcastExchangeExec(mode, child) {

  @transient private val ofOthers = new ConcurrentHashMap[RangeIndexMode, Broadcast[RangeIndex]]

  /**
   * The index to look up matches in, for a join whose mode is canonically equal: the first one, where no key has so many
   * rows that they are searched, since the condition is asked of each then.
   */
  def lookupFor(wanted: RangeIndexMode): Broadcast[RangeIndex] = {
    val first = executeBroadcast[RangeIndex]()
    if (first.value.looksUp(wanted)) first else indexFor(wanted)
  }

  /** The index for a join whose mode is canonically equal, of its own rows and ranges. */
  def indexFor(wanted: RangeIndexMode): Broadcast[RangeIndex] = {
    val first = executeBroadcast[RangeIndex]()
    if (mode.serves(wanted)) first
    else {
      ofOthers.computeIfAbsent(
        wanted,
        _ =>
          sparkContext.broadcastInternal(first.value.indexedBy(wanted), serializedOnly = true))
    }
  }

  /** How many indexes were made for other bounds than the first. */
  private[broadcast] def madeForOthers: Int = ofOthers.size

  override def nodeName: String = "BroadcastExchange"

  /** The future that is made here takes the properties of this thread with it. */
  override protected def doPrepare(): Unit =
    JobDescription.within(sparkContext, description)(super.doPrepare())

  private def description: String =
    s"collect rows to broadcast as $mode".replaceAll("#\\d+L?", "")

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(bounds)

  override protected def withNewChildInternal(newChild: SparkPlan): RangeIndexExchangeExec =
    RangeIndexExchangeExec(mode, newChild, bounds)
}

object RangeIndexExchangeExec {

  /** The exchange that a build side is, or reuses. */
  @tailrec
  def below(build: SparkPlan): RangeIndexExchangeExec = build match {
    case exchange: RangeIndexExchangeExec => exchange
    case stage: BroadcastQueryStageExec   => below(stage.plan)
    case ReusedExchangeExec(_, exchange)  => below(exchange)
    case adapter                          => below(adapter.children.head)
  }

  /** Over the rows of a plan, with the bounds that it has not. */
  def apply(
      mode: RangeIndexMode,
      rows: SparkPlan,
      bounds: Seq[NamedExpression]
  ): RangeIndexExchangeExec = {
    val isComplete = bounds.isEmpty || rows.output.exists(BuildBounds.isAdded)
    val child = if (isComplete) rows else ProjectExec(rows.output ++ bounds, rows)
    new RangeIndexExchangeExec(mode, child, bounds)
  }
}

/**
 * Stands for a range join over a broadcast stage that adaptive execution has begun, while the rest of
 * the query is planned again: Spark's rules accept such a stage below their own joins only, so it is
 * no child here. The range join takes its place in the same planning.
 *
 * The expressions are those of the join, so that rules see them: subqueries have to be planned.
 */
case class IndexedStageJoinExec(
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    buildSide: BuildSide,
    condition: Option[Expression],
    isSkewJoin: Boolean,
    stage: BroadcastQueryStageExec,
    child: SparkPlan
) extends UnaryExecNode {

  /** The range join over the stage and the child. */
  lazy val replacement: BroadcastRangeJoinExec = {
    val (left, right) = if (buildSide == BuildLeft) (stage, child) else (child, stage)
    BroadcastRangeJoinExec(
      leftKeys,
      rightKeys,
      joinType,
      buildSide,
      condition,
      left,
      right,
      isSkewJoin)
  }

  override def output: Seq[Attribute] = replacement.output

  override def producedAttributes: AttributeSet = stage.outputSet

  override def outputPartitioning: Partitioning = replacement.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = replacement.outputOrdering

  override protected def doExecute(): RDD[InternalRow] =
    throw new IllegalStateException(s"not placed:\n$treeString")

  override protected def withNewChildInternal(newChild: SparkPlan): IndexedStageJoinExec =
    copy(child = newChild)
}
