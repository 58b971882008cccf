// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.explain

import scala.PartialFunction.condOpt
import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.{BinaryComparison, Cast, Expression}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{
  AQEShuffleReadExec,
  QueryStageExec,
  ShuffleQueryStageExec
}
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.{BaseJoinExec, BroadcastHashJoinExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, RangeJoinExec}
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.partitioning.RangeBucketExec
import org.apache.spark.sql.rangejoin.plan.Demand
import org.apache.spark.sql.rangejoin.shuffled.{ProductRangeJoinExec, ShuffledRangeJoinExec}
import org.apache.spark.sql.rangejoin.sort.RangeSortExec
import org.apache.spark.sql.types.StringType
import org.apache.spark.util.Utils

/**
 * What the form of a join, or its figures once it has run, suggest to change in the query, the tables or
 * the settings. Nothing is said that the figures do not show.
 */
object Advice {

  /** From this number of candidates on a residual is worth a thought. */
  private val ManyCandidates = 1000L

  /** The residual refuses most of them where there are as many candidates for one row of the result. */
  private val CandidatesPerRow = 10

  /** From this number of rows on, not to sort them again is worth a table. */
  private val ManyRows = 1000000L

  /** A broadcast side is larger than Spark believed where it is this many times the threshold. */
  private val TimesTheThreshold = 4

  /**
   * @param isReduced whether the join gives something in the place of all its pairs
   * @param demand what is wanted of the pairs
   */
  def of(
      join: BaseJoinExec,
      range: Either[Reason, RangeCondition],
      isReduced: Boolean,
      demand: Demand,
      sides: Map[Side, SideFigures]
  ): Seq[String] =
    range.toSeq.flatMap(r =>
      (if (isReduced) None
       else refusal(join, demand).orElse(oneSided(r)) ++ refused(join, r))) ++
      byPartitions(join) ++ texts(join, range) ++
      Side.Both.flatMap { side =>
        skewedPartition(side, sides(side).partitions) ++ sizes(join, side, sides(side)) ++
          sorted(join, side, sides(side))
      }

  private def refusal(join: BaseJoinExec, demand: Demand): Option[String] = join match {
    case range: RangeJoinExec => demand.refusalOf(range)
    case _                    => None
  }

  private def when(isSo: Boolean)(advice: => String): Option[String] =
    if (isSo) Some(advice) else None

  private def oneSided(range: RangeCondition): Option[String] = when(range.isOneSided) {
    "the range has one end, so about half of all pairs of a key are in it: add the other end " +
      "to the condition, such as how far back it reaches; if one match of each row is wanted, rank " +
      "them by the range column: row_number() = 1, max_by or min_by"
  }

  private def byPartitions(join: BaseJoinExec): Option[String] =
    when(join.isInstanceOf[ProductRangeJoinExec]) {
      "for the LIMIT above it, each partition of one side is joined with each of the other until there are " +
        "enough rows: where few rows match at all, ask for buckets of the range by the hint RANGE_JOIN"
    }

  private def refused(join: BaseJoinExec, range: RangeCondition): Option[String] = {
    def metric(name: String): Long = join.metrics.get(name).fold(0L)(_.value)
    val (candidates, rows) = (metric("numCandidates"), metric("numOutputRows"))
    val everyPair = JoinTypeBehavior.of(join.joinType).exists(_.emission == EveryPair)
    when(
      everyPair && range.residual.isDefined && candidates >= ManyCandidates &&
        candidates >= CandidatesPerRow * rows) {
      s"the residual refuses ${100 * (candidates - rows) / candidates}% of the pairs in range: " +
        "turn a part of it into a key or into the range"
    }
  }

  /** Columns of text that are read as something else, row by row, and others compared as text. */
  private def texts(join: BaseJoinExec, range: Either[Reason, RangeCondition]): Seq[String] = {
    val keys: Seq[Expression] = join.leftKeys ++ join.rightKeys
    val predicates = range.fold(_ => join.condition.toSeq, _.predicates)
    val read = (keys ++ predicates).flatMap(_.collect {
      case Cast(text, to, _, _) if isText(text) && !to.isInstanceOf[StringType] =>
        s"${JoinReport.sql(text)} is text and is cast to ${to.sql}: store it as ${to.sql}"
    })
    val compared = keys ++ predicates.flatMap(_.collect { case c: BinaryComparison =>
      c.children
    }.flatten)
    val written = compared.collect {
      case Cast(value, _: StringType, _, _) if !isText(value) && value.references.nonEmpty =>
        s"${JoinReport.sql(value)} is ${value.dataType.sql} and is compared as text, which has " +
          "another order and is equal for other values: cast the other side"
    }
    (read ++ written).distinct
  }

  private def isText(e: Expression): Boolean =
    e.dataType.isInstanceOf[StringType] && e.references.nonEmpty

  private[explain] def skewedPartition(side: Side, bytes: Seq[Long]): Option[String] = {
    val total = bytes.sum
    when(bytes.size >= 4 && total >= (1 << 20) && bytes.max * 2 >= total) {
      s"one of ${bytes.size} shuffle partitions has ${100 * bytes.max / total}% of the " +
        s"${JoinReport.nameOf(side)} side: one key has most rows; leave adaptive execution and " +
        s"${SQLConf.SKEW_JOIN_ENABLED.key} on, or add a key"
    }
  }

  /** Where Spark would have chosen otherwise, had it known the size of a side. */
  private def sizes(join: BaseJoinExec, side: Side, figures: SideFigures): Option[String] = {
    val threshold = SQLConf.get.autoBroadcastJoinThreshold
    val (name, key) = (JoinReport.nameOf(side), SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key)
    figures.exchangedBytes.filter(_ > 0 && threshold > 0).flatMap { bytes =>
      val size = Utils.bytesToString(bytes)
      condOpt(join) {
        case _: SortMergeRangeJoinExec | _: ShuffledRangeJoinExec
            if bytes <= threshold && mayBroadcast(join, side) =>
          s"the $name side has only $size, less than $key, and was shuffled: run ANALYZE " +
            "TABLE, or broadcast it by a hint"
        case _: BroadcastRangeJoinExec | _: BroadcastHashJoinExec
            if bytes > TimesTheThreshold * threshold =>
          s"the $name side has $size, more than $key, and was broadcast: if no hint asked " +
            "for it, run ANALYZE TABLE"
      }
    }
  }

  private def mayBroadcast(join: BaseJoinExec, side: Side): Boolean =
    JoinTypeBehavior.of(join.joinType).exists { behavior =>
      !behavior.preservesBuffered && behavior.streamed.forall(_ != side)
    }

  private def sorted(join: BaseJoinExec, side: Side, figures: SideFigures): Option[String] =
    when(
      join.isInstanceOf[SortMergeRangeJoinExec] && figures.sortMillis > 0 &&
        figures.rows.exists(_ >= ManyRows)) {
      s"sorting ${figures.rows.get} rows of the ${JoinReport.nameOf(side)} side took " +
        s"${Utils.msDurationToString(figures.sortMillis)} of task time: a table that is bucketed " +
        "by the keys, and sorted by them and by the range column, is not sorted again"
    }
}

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
