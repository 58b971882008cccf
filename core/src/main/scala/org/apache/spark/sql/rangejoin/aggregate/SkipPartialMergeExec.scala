// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.aggregate.HashAggregateExec
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{
  InputAdapter,
  SparkPlan,
  UnaryExecNode,
  WholeStageCodegenExec
}
import org.apache.spark.{Partition, TaskContext}

/**
 * Merges partial buffers in the task only where that makes fewer of them. Rows go past the aggregate while nearly every
 * row is the first of its group, as where a query groups by an identifier; once many of them belong to groups that came
 * before, the rest of the task's rows is merged.
 *
 * {{{
 *   SkipPartialMerge             rows that went past, then merged ones
 *     HashAggregate              (partial merge)
 *       RestOfRows               nothing, or the rows from then on
 *         AggregateMatches
 * }}}
 *
 * If something else has replaced the aggregate, or stands between the nodes, all rows go through it.
 */
case class SkipPartialMergeExec(child: SparkPlan) extends UnaryExecNode {

  override def output: Seq[Attribute] = child.output

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numNotMerged" -> SQLMetrics.createMetric(sparkContext, "number of rows not merged")
  )

  /** The aggregate that may be skipped. */
  def merge: Option[HashAggregateExec] = child match {
    case WholeStageCodegenExec(merge: HashAggregateExec) => Some(merge)
    case merge: HashAggregateExec                        => Some(merge)
    case _                                               => None
  }

  private def rest(merge: HashAggregateExec): Option[RestOfRowsExec] = merge.child match {
    case InputAdapter(rest: RestOfRowsExec) => Some(rest)
    case rest: RestOfRowsExec               => Some(rest)
    case _                                  => None
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val merged = child.execute()
    val skipping = for (merge <- merge; rest <- rest(merge)) yield {
      val group: Expression = Murmur3Hash(merge.groupingExpressions, SkipPartialMergeExec.Seed)
      val hash = BindReferences.bindReference(group, rest.output)
      new SkipPartialMergeRDD(merged, rest.rows, hash, longMetric("numNotMerged"))
    }
    skipping.getOrElse(merged)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SkipPartialMergeExec =
    copy(child = newChild)
}

object SkipPartialMergeExec {

  /** Over an aggregate that merges what its child has. */
  def over(merge: HashAggregateExec): SkipPartialMergeExec =
    SkipPartialMergeExec(merge.withNewChildren(Seq(RestOfRowsExec(merge.child))))

  /** Not the seed of shuffles: within a partition all those hashes have the same remainder. */
  private val Seed = 73
}

/**
 * @param merged over [[RestOfRowsExec]]
 * @param rows what comes out of it
 * @param hash of the group of a row
 */
private final class SkipPartialMergeRDD(
    merged: RDD[InternalRow],
    rows: RDD[InternalRow],
    hash: Expression,
    notMerged: SQLMetric
) extends RDD[InternalRow](merged) {

  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    new Iterator[InternalRow] {
      private[this] val hashed = UnsafeProjection.create(hash)
      private[this] var current = rows.iterator(split, context)
      // Null before there is a row, and once rows are merged.
      private[this] var groups: RepeatedGroups = _
      private[this] var isMerging = false

      override def hasNext: Boolean = {
        if (groups != null && groups.repeat && current.hasNext) {
          current = merged.iterator(new RestOfPartition(split.index, current), context)
          groups = null
          isMerging = true
        }
        current.hasNext
      }

      override def next(): InternalRow = {
        val row = current.next()
        if (!isMerging) {
          if (groups == null) groups = new RepeatedGroups
          groups.add(hashed(row).getInt(0))
          notMerged += 1
        }
        row
      }
    }
}
