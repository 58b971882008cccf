/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.spread

import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.optimizer.{CollapseProject, ColumnPruning}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.{ProjectExec, QueryExecution, SparkPlan}
import org.apache.spark.sql.rangejoin.condition.{LeftSide, Side}
import org.apache.spark.sql.rangejoin.line.ClassicSession.SparkSession
import org.apache.spark.sql.rangejoin.{JobDescription, RangeJoinConf}

/**
 * The layout of the buckets of one join, which both of its sides use: chosen once, when the first of
 * them is about to run, and kept as long as the plan. The sides of a plan refer to the same object, and
 * two joins never do: that is what makes an exchange over a [[RangeBucketExec]] equal to another one.
 *
 * To choose it, a sample of the bounds of both sides is read: a query of its own, of the columns the bounds
 * need. Rows may be other ones when they are read for the join: nothing but balance depends on the sample. How far
 * copies look back follows from what is shuffled (see [[OwnerLengths]]).
 *
 * Lives on the driver.
 *
 * @param isTiny whether there is nothing worth dividing: there is one bucket, and nothing is read
 */
final class RangeSpread(
    session: SparkSession,
    val range: SpreadRange,
    left: LogicalPlan,
    right: LogicalPlan,
    val isTiny: Boolean
) extends Logging {
  import RangeSpread._

  /**
   * A layout, and what there is to say of it.
   *
   * @param buckets in which there are rows of the owner, by the sample
   * @param largest how many rows there are in the largest of them, likewise
   */
  case class Chosen(layout: BucketLayout, buckets: Int, largest: Long, millis: Long)

  @volatile private var chosen: Option[Chosen] = None

  /** The layout, if it has been chosen. */
  def layout: Option[BucketLayout] = chosen.map(_.layout)

  def isOwner(side: Side): Boolean = side == range.owner

  /** Whether the layout needs no look at the rows. */
  def isSingle: Boolean = isTiny && forced == 0 || forced == 1

  private def forced: Int = session.sessionState.conf.getConf(RangeJoinConf.SpreadBuckets)

  /** What [[prepare]] has failed with, until a job has failed with it. */
  private var failed: Option[Throwable] = None

  /** The layout, for a job that is about to begin. */
  def get(): Chosen = synchronized {
    failed.foreach { error =>
      failed = None
      throw error
    }
    chosen.getOrElse {
      val now = session.withActive(choose())
      chosen = Some(now)
      now
    }
  }

  /**
   * Chooses the layout while the query is made ready. If that fails, or is cancelled, it is the job that fails:
   * Spark keeps what fails before, so that the same query could never be run again.
   */
  def prepare(): Unit = synchronized {
    if (failed.isEmpty) {
      try get()
      catch { case e @ (NonFatal(_) | _: InterruptedException) => failed = Some(e) }
    }
  }

  /** In a plan that is not adaptive: what reads a side, if it is written before it is read. */
  private var written = Map.empty[Boolean, Option[SparkPlan]]

  /**
   * Chooses the layout when a plan is prepared that has both sides in it, the second time that this is called. In a stage
   * of an adaptive plan there is one of them.
   *
   * @param exchange what the side is written by
   */
  private[spread] def prepareWith(isOwner: Boolean, exchange: Option[SparkPlan]): Unit =
    synchronized {
      written += isOwner -> exchange
      if (written.size == 2) prepare()
    }

  private def choose(): Chosen = {
    val start = System.nanoTime()
    val partitions = session.sessionState.conf.numShufflePartitions
    if (isSingle) {
      Chosen(BucketLayout.single(range.dataType, BucketIds(1, partitions).head), 1, 0L, 0L)
    } else {
      val bound = range.ofOwner.low.orElse(range.ofOwner.high).get.child.sql
      val (layout, expected, largest) = JobDescription.within(
        session.sparkContext,
        s"range join without a key: bounds of $bound")(chooseLayout(partitions))
      val millis = NANOSECONDS.toMillis(System.nanoTime() - start)
      logInfo(s"Range join without a key: ${expected.usedBuckets} buckets, chosen in $millis ms")
      Chosen(layout, expected.usedBuckets, largest, millis)
    }
  }

  /** The layout, what is likely to be used of it, and the rows of the largest bucket. */
  private def chooseLayout(partitions: Int): (BucketLayout, BucketLayout, Long) = {
    val most = if (forced > 0) forced else BucketsPerPartition * partitions
    val sampleSize = BoundSampling.sizeFor(most)
    val (owner, copied) = BoundSampling.sample(
      BoundSampling.Side(boundsOf(isOwner = true), range.ofOwner),
      BoundSampling.Side(boundsOf(isOwner = false), range.ofCopied),
      sampleSize)
    val worth = ((owner.rows + copied.rows) / RowsPerBucket).toInt
    val buckets = if (forced > 0) forced else math.max(1, math.min(most, worth))
    val planner = new LayoutPlanner(range.dataType, owner, copied, buckets, forced > 0)
    val layout =
      if (range.isPoint) planner.layout(Lengths.Zero, partitions)
      else planner.openLayout(partitions)
    val expected = if (range.isPoint) layout else planner.expected(layout)
    (layout, expected, planner.largest(expected).toLong)
  }

  private def boundsPlan(isOwner: Boolean): Project = {
    val side = if (isOwner == (range.owner == LeftSide)) left else right
    val columns = range.bounds(isOwner).columns.zipWithIndex.map {
      case (e: Expression, i) => Alias(e, s"bound_$i")(): NamedExpression
    }
    Project(columns, side)
  }

  private[spread] def boundsOf(isOwner: Boolean): SparkPlan =
    written.get(isOwner).flatten.map(ProjectExec(boundsPlan(isOwner).projectList, _)).getOrElse(
      planningSample(QueryExecution.prepareExecutedPlan(session, pruned(boundsPlan(isOwner)))))

  override def toString: String = s"range spread ${System.identityHashCode(this)}"
}

object RangeSpread {

  /** More buckets than tasks, so that a task with a large one has fewer rows elsewhere. */
  private val BucketsPerPartition = 4

  /** Fewer rows are not worth a bucket. */
  private val RowsPerBucket = 2000

  private val ofSample = ThreadLocal.withInitial[java.lang.Boolean](() => false)

  /**
   * Whether this thread plans a sample. Such a plan is not adaptive: nobody would wait for what its joins wait
   * for.
   */
  def isPlanningSample: Boolean = ofSample.get

  private def planningSample[T](plan: => T): T = {
    val before = ofSample.get
    ofSample.set(true)
    try plan
    finally ofSample.set(before)
  }

  /**
   * Without the columns that are not needed. A query stage stays directly below its join: strategies look
   * for it there, and a broadcast has no rows for a projection.
   */
  private[spread] def pruned(plan: LogicalPlan): LogicalPlan = {
    val next = CollapseProject(ColumnPruning(plan))
    if (!next.fastEquals(plan)) pruned(next)
    else {
      plan.transformUp { case join: Join =>
        join.withNewChildren(join.children.map {
          case Project(columns, stage: LogicalQueryStage)
              if columns.forall(_.isInstanceOf[Attribute]) => stage
          case other => other
        })
      }
    }
  }
}
