// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RightSide, Side}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.partitioning._

/**
 * Writes a side of a join by buckets once, where its rows take longer to compute than to write
 * ([[CostlySide]]): otherwise they would be computed for their size, for the sample and for the join. Under
 * adaptive execution the other side waits until this one has been written. Its size is then exact, so it need
 * not be measured, and is broadcast if it is small.
 *
 * @param isAdaptive whether the plan is, and makes stages of exchanges
 */
case class WriteCostlySides(isAdaptive: Boolean) extends Rule[SparkPlan] {
  import WriteCostlySides._

  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(InternalConf.WriteOnce) || SamplePlan.isPlanningSample) plan
    else {
      val open = plan.collect { case b: RangeBucketExec if b.getTagValue(Decided).isEmpty => b }
      val joins = open.filterNot(_.partitioning.isSingle).groupBy(_.partitioning).values
        // Where one side is being shuffled by its buckets the sample has been drawn.
        .filter(_.size == 2)
      val writings = new SharedWritings(plan)
      val costly = joins.flatten.filter(isCostly).map(b => key(b) -> Costly(b, writings)).toMap
      plan.transformUp {
        case buckets: RangeBucketExec if open.exists(isSame(_, buckets)) =>
          val result = written(buckets, costly)
          result.copyTagsFrom(buckets)
          result.setTagValue(Decided, ())
          result
      }
    }

  private def isSame(a: RangeBucketExec, b: RangeBucketExec): Boolean = key(a) == key(b)

  private def key(buckets: RangeBucketExec): (JoinPartitioning, Boolean) =
    (buckets.partitioning, buckets.isOwner)

  private def isCostly(buckets: RangeBucketExec): Boolean = {
    val (side, others) = parts(buckets.child)
    val isMeasured = others.exists(isMeasureOf(side))
    val needed =
      if (isMeasured) side.outputSet
      else AttributeSet.fromAttributeSets(
        buckets.partitioning.columns(buckets.isOwner).map(_.references))
    CostlySide(side, needed)
  }

  private def parts(child: SparkPlan): (SparkPlan, Seq[SparkPlan]) = child match {
    case DeferShuffleExec(side, others) => (side, others)
    case side                           => (side, Nil)
  }

  private def isMeasureOf(side: SparkPlan)(other: SparkPlan): Boolean = other match {
    case ProbeExec.Measured(measured) => measured.outputSet == side.outputSet
    case _                            => false
  }

  private def written(
      buckets: RangeBucketExec,
      costly: Map[(JoinPartitioning, Boolean), Costly]): RangeBucketExec = {
    val (partitioning, isOwner) = key(buckets)
    val sides = Seq(isOwner, !isOwner).map(owns => costly.get((partitioning, owns)))
    val (side, others) = parts(buckets.child)
    val left = others.filterNot(other => sides.flatten.exists(_.isMeasuredBy(other)))
    // The owner waits until the copied side has been written: that must not wait for the owner.
    val (ofOwner, ofSizes) = left.partition(_.isInstanceOf[OwnerStageExec])
    val waits = ofOwner ++
      (if (isAdaptive) sides(1).map(other => AwaitWriteExec.of(other.writing)) else None)
    val child = sides.head match {
      // Sizes first: if the other side is small, this one is streamed past its broadcast and need
      // not be written.
      case Some(self) => await(WriteOnceExec(self.writing, await(side, ofSizes)), waits)
      case None       => await(side, ofSizes ++ waits)
    }
    buckets.copy(child = child)
  }

  private def await(side: SparkPlan, others: Seq[SparkPlan]): SparkPlan =
    if (others.isEmpty) side else DeferShuffleExec(side, others)

  private case class Costly(side: SparkPlan, writing: Writing) {
    def isMeasuredBy(other: SparkPlan): Boolean = isMeasureOf(side)(other)
  }

  private object Costly {
    def apply(buckets: RangeBucketExec, writings: SharedWritings): Costly = {
      val side = parts(buckets.child)._1
      Costly(side, writings.of(side, buckets.partitioning.writing(buckets.isOwner)))
    }
  }

  /** Equal sides are written once, unless they may come out otherwise. */
  private class SharedWritings(plan: SparkPlan) {
    private val found = scala.collection.mutable.Map[SparkPlan, Writing]()
    if (isAdaptive && conf.exchangeReuseEnabled) plan.foreach {
      case ShuffleQueryStageExec(_, _, WriteOnceExec(writing, child)) if writing != null =>
        if (isRepeatable(child)) found.getOrElseUpdate(child, writing)
      case _ =>
    }

    def of(side: SparkPlan, own: Writing): Writing =
      if (!isRepeatable(side)) own
      else if (isAdaptive) {
        if (conf.exchangeReuseEnabled) found.getOrElseUpdate(side.canonicalized, own) else own
      } else null

    private def isRepeatable(side: SparkPlan): Boolean =
      !side.exists(_.expressions.exists(!_.deterministic))
  }
}

object WriteCostlySides {

  /** On a join: what is known of its sides while they are written, if they are. */
  private val Writings = TreeNodeTag[Map[Side, Writing]]("rangejoin.writings")

  /** What is kept of the sides of a join while it is planned again. */
  private[plan] def writingsOf(join: Join): Map[Side, Writing] =
    join.getTagValue(Writings).getOrElse {
      val writings = Seq[Side](LeftSide, RightSide).map(_ -> new Writing).toMap
      join.setTagValue(Writings, writings)
      writings
    }

  /** On buckets: it has been decided whether their side is written. */
  private val Decided = TreeNodeTag[Unit]("rangejoin.decidedToWrite")

  /** A side below its buckets, without what has been put there to wait or to write. */
  private[plan] def sideOf(child: SparkPlan): SparkPlan = child match {
    case DeferShuffleExec(side, _) => sideOf(side)
    case WriteOnceExec(_, side)    => sideOf(side)
    case side                      => side
  }
}
