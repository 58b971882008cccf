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

import org.apache.spark.rdd.{RDD, UnionRDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.rangejoin.kernel.GuardedValue

/**
 * One side of a join with keys that has been shuffled, some partitions of which are too large: their rows
 * are shuffled again, to the places of a [[KeyedLayout]], and all other partitions are passed on as they are.
 * The partitions of the result are those others first, and then the places.
 *
 * Rows stay what they are: a place is a partition, and is not among the columns. No row is with all
 * others of its key any more, so that the join above must be all that needs it.
 *
 * @param keys of the join, over the columns of the inputs
 * @param bounds of this side, likewise
 * @param spread None while it is looked for whether the plan may have this node
 * @param inputs the partitions that stay as they are, if there are any; those that are divided
 */
case class BucketShuffleExec(
    isOwner: Boolean,
    keys: Seq[Expression],
    bounds: Seq[Expression],
    @transient spread: Option[KeyedSpread],
    inputs: Seq[SparkPlan]
) extends DividesRows {

  override def children: Seq[SparkPlan] = inputs

  override def output: Seq[Attribute] = inputs.head.output

  override def producedAttributes: AttributeSet = AttributeSet.empty

  override lazy val outputPartitioning: Partitioning = UnknownPartitioning(
    spread.fold(0)(_.plan.layout.numPlaces) +
      inputs.init.map(_.outputPartitioning.numPartitions).sum)

  override def stringArgs: Iterator[Any] = Iterator(
    if (isOwner) "owner" else "copies",
    keys.mkString("[", ", ", "]"),
    bounds.filterNot(_.isInstanceOf[GuardedValue]).mkString("[", ", ", "]")
  ) ++ spread.iterator.flatMap(_.description)

  override protected def doExecute(): RDD[InternalRow] = {
    val of = spread.getOrElse(throw new IllegalStateException("no layout of the buckets"))
    val placed = divided(of, keys, inputs.last.execute())
    new UnionRDD(sparkContext, inputs.init.map(_.execute()) :+ placed)
  }

  /**
   * Exchanges above are the same if what they shuffle is, however it was divided: one is used in the place
   * of another as a whole, with both sides of the join below it.
   */
  override protected def doCanonicalize(): SparkPlan =
    super.doCanonicalize().asInstanceOf[BucketShuffleExec].copy(spread = None)

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[SparkPlan]): BucketShuffleExec = copy(inputs = newChildren)
}
