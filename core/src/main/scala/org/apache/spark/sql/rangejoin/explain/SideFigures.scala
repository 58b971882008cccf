// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.explain

import scala.annotation.tailrec

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{
  AQEShuffleReadExec,
  QueryStageExec,
  ShuffleQueryStageExec
}
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.rangejoin.join.CodegenBoundaryExec
import org.apache.spark.sql.rangejoin.partitioning.RangeBucketExec
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/**
 * What a query that has run knows of one side of a join. Zeros before it has run, as Spark's metrics are.
 *
 * @param rows that came in, without copies; None where the node below counts none
 * @param exchangedBytes of the exchange below, if there is one
 * @param partitions bytes of each shuffle partition; empty without adaptive execution
 * @param sortMillis spent in sorting the side for this join, the sum over tasks
 * @param buckets what gave its rows their buckets, if they are joined by buckets
 */
case class SideFigures(
    rows: Option[Long],
    exchangedBytes: Option[Long],
    partitions: Seq[Long],
    sortMillis: Long,
    buckets: Option[RangeBucketExec] = None
)

object SideFigures {

  def of(side: SparkPlan): SideFigures = {
    val path = pathToRows(side, Nil)
    val source = path.head
    val isExchange = source.isInstanceOf[Exchange]
    def metric(name: String): Option[Long] = source.metrics.get(name).map(_.value)
    val buckets = if (isExchange) RangeBucketExec.below(source) else None
    val copies = buckets.flatMap(_.metrics.get("numCopies")).fold(0L)(_.value)
    SideFigures(
      metric("shuffleRecordsWritten").map(_ - copies).orElse(metric("numOutputRows")),
      if (isExchange) metric("dataSize") else None,
      path.collectFirst {
        case stage: ShuffleQueryStageExec if stage.isMaterialized => stage.mapStats
      }.flatten
        .fold(Seq.empty[Long])(_.bytesByPartitionId.toSeq),
      path.collect { case sort: RangeSortExec => sort.metrics("sortTime").value }.sum,
      buckets
    )
  }

  /** The nodes down to the one that counts the rows, through those that have as many rows. */
  @tailrec
  private def pathToRows(plan: SparkPlan, above: List[SparkPlan]): List[SparkPlan] = {
    val below = plan match {
      case node @ (_: ProjectExec | _: RangeSortExec | _: SortExec | _: CodegenBoundaryExec |
          _: WholeStageCodegenExec | _: InputAdapter | _: AQEShuffleReadExec) =>
        Some(node.children.head)
      case stage: QueryStageExec      => Some(stage.plan)
      case reused: ReusedExchangeExec => Some(reused.child)
      case _                          => None
    }
    below match {
      case Some(next) => pathToRows(next, plan :: above)
      case None       => plan :: above
    }
  }
}
