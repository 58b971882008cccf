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

import java.util.concurrent.atomic.AtomicReference

import scala.util.control.NonFatal

import org.apache.spark.rdd.{RDD, UnionRDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.{
  ShufflePartitionSpec,
  ShuffledRowRDD,
  SparkPlan,
  UnaryExecNode
}
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RightSide, Side}
import org.apache.spark.sql.rangejoin.join.PreparedInPairs

/**
 * One side of a shuffle that is divided.
 *
 * @param rest by task that is left alone, what it reads of the shuffle
 * @param heavy the partitions whose rows get other places
 */
case class CutShuffle(
    spread: KeyedSpread,
    exchange: ShuffleExchangeExec,
    rest: Seq[ShufflePartitionSpec],
    heavy: Seq[ShufflePartitionSpec]
)

/** The shuffles of both sides of a join, as they are about to be read. */
trait CutShuffles {

  /** Runs them, and decides whether they are divided, at the first call; None where they are not. */
  def of(side: Side): Option[CutShuffle]

  /** What has been decided, once that is so: how they are divided, or why not. */
  def decision: Option[Either[String, KeyedSpread]]
}

/** What looks for heavy keys between two exchanges of a join. */
trait HeavyKeysSearch {
  def between(left: SparkPlan, right: SparkPlan): CutShuffles
}

/**
 * Reads the shuffle of one side of a join in a plan that is not adaptive; heavy partitions of it, if there
 * are any, by the places of a [[KeyedLayout]]. That is seen when the first side is about to be read: then
 * the shuffles of both run, as stages of an adaptive plan would.
 *
 * Nothing is promised of where rows are, nor how many partitions there will be, since that is not known while
 * the query is planned; the join above must be all that needs it.
 *
 * @param keys of the join, over the columns of the child
 * @param search the same for both sides of the join
 * @param child the exchange, or one that is reused
 */
case class CutHeavyKeysExec(
    keys: Seq[Expression],
    @transient search: HeavyKeysSearch,
    child: SparkPlan
) extends UnaryExecNode with DividesRows with PreparedInPairs {

  /** Which side of what this is, once the join is prepared. */
  @transient private var paired: Option[(Side, CutShuffles)] = None

  override def output: Seq[Attribute] = child.output

  override def outputPartitioning: Partitioning = UnknownPartitioning(0)

  private def decision: Option[Either[String, KeyedSpread]] =
    Option(paired).flatten.flatMap { case (_, shuffles) => shuffles.decision }

  override def spread: Option[KeyedSpread] = decision.flatMap(_.toOption)

  override def isOwner: Boolean =
    spread.exists(of => paired.exists { case (side, _) => side == of.range.owner })

  override def stringArgs: Iterator[Any] = Iterator(keys.mkString("[", ", ", "]")) ++
    decision.iterator.flatMap {
      case Right(of) => (if (isOwner) "owner" else "copies") +: of.description
      case Left(why) => Seq(s"not cut: $why")
    }

  override def prepareWith(right: PreparedInPairs): Unit = right match {
    case other: CutHeavyKeysExec if other.search.eq(search) =>
      val shuffles = search.between(child, other.child)
      paired = Some((LeftSide, shuffles))
      other.paired = Some((RightSide, shuffles))
    case _ =>
  }

  // The second shuffle is the same when the plan is executed again.
  @transient private lazy val rows: RDD[InternalRow] = {
    val shuffle =
      try Right(paired.flatMap { case (side, shuffles) => shuffles.of(side) })
      catch { case e @ (NonFatal(_) | _: InterruptedException) => Left(e) }
    shuffle match {
      case Left(e) =>
        // Nodes above keep what they are given, be it rows or an error: thrown here, it would be thrown for ever.
        val error = new AtomicReference(e)
        new RowsBeforeJob(child.execute(), () => Option(error.getAndSet(null)).foreach(throw _))
      case Right(None)      => child.execute()
      case Right(Some(cut)) =>
        def read(of: Seq[ShufflePartitionSpec]) =
          new ShuffledRowRDD(cut.exchange.shuffleDependency, readMetrics, of.toArray)
        val placed = divided(cut.spread, keys, read(cut.heavy))
        new UnionRDD(sparkContext, (if (cut.rest.isEmpty) Nil else Seq(read(cut.rest))) :+ placed)
    }
  }

  override protected def doExecute(): RDD[InternalRow] = rows

  /** The same rows, however they are divided. */
  override protected def doCanonicalize(): SparkPlan =
    super.doCanonicalize().asInstanceOf[CutHeavyKeysExec].copy(search = null)

  override protected def withNewChildInternal(newChild: SparkPlan): CutHeavyKeysExec =
    copy(child = newChild)
}
