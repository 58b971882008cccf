// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import scala.PartialFunction.condOpt

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
 * @param functions partial, each of columns of one side or a [[WindowedFunction]]
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
  def join: Option[RangeJoinExec] = condOpt(child) {
    case join: RangeJoinExec                        => join
    case WholeStageCodegenExec(join: RangeJoinExec) => join
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
    val streamed = join.streamedPlan.output
    // They are NULL for a row without a match.
    val buffered =
      if (join.preservesStreamed) join.bufferedOutput.map(_.withNullability(true))
      else join.bufferedOutput
    def isOf(columns: Seq[Attribute])(i: Int) =
      functions(i).references.subsetOf(AttributeSet(columns))
    val (ofStreamed, others) = functions.indices.partition(isOf(streamed))
    val (ofBuffered, ofBoth) = others.partition(isOf(buffered))
    val windows = WindowedFunction.groups(ofBoth.map(functions), join)
    aggregates(
      Seq(
        ofStreamed,
        ofBuffered,
        if (windows.isEmpty) ofBoth else windows.flatten.map(w => ofBoth(w._1))),
      streamed,
      buffered,
      join.pairResidual,
      streamed.filter(join.references.contains),
      join.preservesStreamed,
      windows.map { window =>
        WindowedFunction.inTask(window.map(_._2), join.sortBound.get, streamed, buffered)
      }
    )
  }

  private def ofPairs: AggregatedMatchIteratorFactory =
    aggregates(Seq(Nil, functions.indices, Nil), child.output, child.output)

  /** @param kinds the functions of the streamed row, those of the buffered row, and those of both, by number */
  private def aggregates(
      kinds: Seq[Seq[Int]],
      streamed: Seq[Attribute],
      buffered: Seq[Attribute],
      residual: Option[Expression] = None,
      condition: Seq[Attribute] = Nil,
      preservesStreamed: Boolean = false,
      windows: Seq[RunWindow] = Nil): AggregatedMatchIteratorFactory = {
    val Seq(ofStreamed, ofBuffered, ofBoth) = kinds.map(_.map(functions)): @unchecked
    AggregatedMatchIteratorFactory(
      bindReferences(grouping.map(withoutAlias), streamed),
      MatchAggregation.of(ofStreamed, streamed),
      MatchAggregation.of(ofBuffered, buffered),
      windows,
      MatchAggregation.of(ofBoth, streamed ++ buffered),
      inOrder(kinds.flatten, streamed.size),
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

  /**
   * The buffers in the order of the functions.
   *
   * @param found the functions in the order in which their buffers follow the columns of the streamed row
   */
  private def inOrder(found: Seq[Int], columns: Int): Seq[BoundReference] = {
    val sizes = functions.map(_.aggregateFunction.aggBufferAttributes.size)
    val firsts = found.zip(found.map(sizes).scanLeft(columns)(_ + _)).toMap
    val fields = functions.indices.flatMap(i => (0 until sizes(i)).map(firsts(i) + _))
    fields.zip(buffers).map { case (field, buffer) =>
      BoundReference(field, buffer.dataType, buffer.nullable)
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): AggregateMatchesExec =
    copy(child = newChild)
}
