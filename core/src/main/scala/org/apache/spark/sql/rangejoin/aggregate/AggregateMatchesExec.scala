// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{
  OrderPreservingUnaryExecNode,
  PartitioningPreservingUnaryExecNode,
  SparkPlan,
  WholeStageCodegenExec
}
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

/**
 * Aggregates the matches of each streamed row while the join finds them: instead of pairs it returns one row of partial
 * aggregate buffers for each streamed row. An aggregate above merges the buffers, as above any partial aggregate of
 * Spark.
 *
 * If the child is no range join any more, its rows are pairs and are aggregated as such, with the same result, so a
 * rule may replace the join without knowing this node.
 *
 * @param grouping of columns of the streamed side
 * @param functions each of columns of one side, partial
 * @param buffers the columns that hold their buffers
 * @param number a column that is unique for each streamed row; set if no aggregate above merges buffers
 */
case class AggregateMatchesExec(
    grouping: Seq[NamedExpression],
    functions: Seq[AggregateExpression],
    buffers: Seq[Attribute],
    child: SparkPlan,
    number: Option[Attribute] = None)
    extends PartitioningPreservingUnaryExecNode
    with OrderPreservingUnaryExecNode {

  override def output: Seq[Attribute] = outputExpressions.map(_.toAttribute)

  override protected def outputExpressions: Seq[NamedExpression] = grouping ++ buffers

  override protected def orderingExpressions: Seq[SortOrder] = child.outputOrdering

  override def producedAttributes: AttributeSet = AttributeSet(buffers)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "numMatches" -> SQLMetrics.createMetric(sparkContext, "number of matches aggregated"),
    "numPairs" -> SQLMetrics.createMetric(sparkContext, "number of pairs aggregated one by one")
  )

  /** The join, which does not run by itself. */
  def join: Option[RangeJoinExec] = child match {
    case join: RangeJoinExec                        => Some(join)
    case WholeStageCodegenExec(join: RangeJoinExec) => Some(join)
    case _                                          => None
  }

  /** Whether it is the matches of this join that are aggregated. */
  def isOf(join: SparkPlan): Boolean = this.join.exists(_.eq(join))

  override protected def doExecute(): RDD[InternalRow] = join match {
    case Some(join) => join.scanned(ofMatches(join).rows)
    case None       =>
      val aggregates = ofPairs
      val ordinal = number.map(column => child.output.indexWhere(_.exprId == column.exprId))
      val schema = child.schema
      child.execute().mapPartitions { rows =>
        val unsafe = UnsafeProjection.create(schema)
        aggregates.rows(new PairRuns(rows.map(unsafe(_)), ordinal))
      }
  }

  private def ofMatches(join: RangeJoinExec): AggregatedMatchIteratorFactory = {
    // They are NULL for a row without a match.
    val buffered =
      if (join.preservesStreamed) join.bufferedOutput.map(_.withNullability(true))
      else join.bufferedOutput
    val columns = AttributeSet(join.streamedPlan.output)
    aggregates(
      join.streamedPlan.output,
      functions.map(_.references.subsetOf(columns)),
      buffered,
      join.pairResidual,
      join.streamedPlan.output.filter(join.references.contains),
      join.preservesStreamed
    )
  }

  private def ofPairs: AggregatedMatchIteratorFactory =
    aggregates(
      child.output,
      functions.map(_ => false),
      child.output,
      None,
      Nil,
      preservesStreamed = false)

  /** @param isStreamed by function, whether it reads the streamed row */
  private def aggregates(
      streamed: Seq[Attribute],
      isStreamed: Seq[Boolean],
      buffered: Seq[Attribute],
      residual: Option[Expression],
      condition: Seq[Attribute],
      preservesStreamed: Boolean): AggregatedMatchIteratorFactory = {
    val (ofStreamed, ofBuffered) = functions.zip(isStreamed).partition(_._2)
    val (first, second) = (
      MatchAggregation.of(ofStreamed.map(_._1), streamed),
      MatchAggregation.of(ofBuffered.map(_._1), buffered))
    AggregatedMatchIteratorFactory(
      bindReferences(grouping.map(withoutAlias), streamed),
      first,
      second,
      inOrder(isStreamed, streamed.size, first.types.size),
      residual,
      bindReferences[Expression](condition, streamed),
      preservesStreamed,
      buffered.size,
      AggregatedMatchIteratorFactory.Metrics(
        longMetric("numOutputRows"),
        longMetric("numMatches"),
        longMetric("numPairs"))
    )
  }

  private def withoutAlias(e: NamedExpression): Expression = e match {
    case Alias(child, _) => child
    case other           => other
  }

  /** The buffers in the order of the functions, where those of streamed rows come first, behind the row. */
  private def inOrder(isStreamed: Seq[Boolean], fields: Int, first: Int): Seq[BoundReference] = {
    val sizes = functions.map(_.aggregateFunction.aggBufferAttributes.size)
    var (next, nextOther, buffer) = (fields, fields + first, 0)
    sizes.zip(isStreamed).flatMap { case (size, ofStreamed) =>
      val from = if (ofStreamed) next else nextOther
      if (ofStreamed) next += size else nextOther += size
      val references = (0 until size).map { i =>
        BoundReference(from + i, buffers(buffer + i).dataType, buffers(buffer + i).nullable)
      }
      buffer += size
      references
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): AggregateMatchesExec =
    copy(child = newChild)
}
