// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.ExplainUtils.generateFieldString
import org.apache.spark.sql.execution.joins.JoinCodegenSupport
import org.apache.spark.sql.execution.metric.SQLMetrics
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.rangejoin.best.{BestMatches, BestOrder}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.kernel.RangeBound

/**
 * What the nodes of range joins share. Each replaces a stock join late in planning and promises what that node
 * promised: output, partitioning and order. The range is derived from `condition`, which stays whole, so that the node
 * can always be explained, rewritten and compared like the stock one.
 */
trait RangeJoinExec extends JoinCodegenSupport {

  /** Which matches of a streamed row are wanted; None for all of them. */
  def best: Option[BestMatches]

  /** This join, of which these matches are wanted; a node that returns all in any case stays what it is. */
  def withBest(best: Option[BestMatches]): RangeJoinExec

  /** The stock join that this node stands for, over the same children. */
  def asStock: SparkPlan

  /** The side that has to be streamed; None where the range decides. */
  protected def fixedSide: Option[Side]

  /** Whether this kind of join can stream a side at all: not one that is indexed. */
  def mayStream(side: Side): Boolean = true

  /** The range, or why there is none that this node serves. */
  def extracted: Either[Reason, RangeCondition] =
    RangeExtractor.extract(JoinCondition.of(this, fixedSide))

  /**
   * The range that the node runs by; a condition without a range counts as one in which every row
   * of a key is in range. Left: why there is none that this node serves.
   */
  lazy val normalForm: Either[Reason, RangeCondition] =
    RangeExtractor.normalForm(JoinCondition.of(this, fixedSide))

  /** The normal form, where the node may take the place of the stock join, which keeps an order. */
  def placeable: Either[Reason, RangeCondition] = normalForm

  protected lazy val range: RangeCondition = normalForm.fold(
    reason => throw new IllegalStateException(s"${reason.message}:\n${simpleStringWithNodeId()}"),
    identity)

  protected lazy val streamedSide: Side = fixedSide.getOrElse(range.streamed)

  protected lazy val behavior: JoinTypeBehavior = JoinTypeBehavior.of(joinType, streamedSide).get

  protected lazy val bestOrder: Option[BestOrder] = best.flatMap(BestOrder.of(range, _))

  protected def streamLeft: Boolean = streamedSide == LeftSide

  def streamedPlan: SparkPlan = streamedSide.of(left, right)

  protected def otherPlan: SparkPlan = streamedSide.other.of(left, right)

  protected def streamedKeys: Seq[Expression] = streamedSide.of(leftKeys, rightKeys)

  protected def otherKeys: Seq[Expression] = streamedSide.other.of(leftKeys, rightKeys)

  @transient protected lazy val stock: SparkPlan = asStock

  /** Whether a column of a child was added for this join, and is no column of its output. */
  protected def isAdded(column: Attribute): Boolean

  override lazy val output: Seq[Attribute] = stock.output.filterNot(isAdded)

  override def outputPartitioning: Partitioning = stock.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = stock.outputOrdering

  // ---------------------------------------------------------------- what EXPLAIN shows

  /** What EXPLAIN calls the side that is not streamed. */
  protected def otherSideName: String

  /** What a line of a plan shows between the keys and the range. */
  protected def shownArgs: Seq[Any] = Seq(joinType)

  /** Further fields in EXPLAIN FORMATTED. */
  protected def moreFields: Seq[(String, String)] = Nil

  private def shownKeys: Seq[(String, Seq[Expression])] =
    if (leftKeys.isEmpty) Nil else Seq("Left keys" -> leftKeys, "Right keys" -> rightKeys)

  protected def shownRange(form: RangeCondition): String = form.predicates.mkString(" AND ")

  /** A node that serves no range shows its condition. */
  override def stringArgs: Iterator[Any] = {
    val ofRange = normalForm match {
      case Right(form) =>
        Some(shownRange(form)).filter(_.nonEmpty).map("range: " + _) ++
          form.residual.map("residual: " + _)
      case Left(_) => condition.map(_.toString).toSeq
    }
    (shownKeys.map(_._2) ++ shownArgs ++ best ++ ofRange).iterator
  }

  override def verboseStringWithOperatorId(): String = {
    val ofRange = normalForm.toSeq.flatMap { form =>
      Seq("Range" -> shownRange(form), "Residual" -> form.residual.fold("None")(_.toString))
    }
    val (streamed, other) = if (streamLeft) ("left", "right") else ("right", "left")
    val fields = shownKeys ++ Seq("Join type" -> joinType.toString) ++ ofRange ++
      best.map("Best matches" -> _.toString) ++
      Seq("Streamed side" -> streamed, otherSideName -> other) ++ moreFields
    (formattedNodeName +: fields.map { case (field, value) => generateFieldString(field, value) })
      .mkString("\n", "\n", "\n")
  }

  // ---------------------------------------------------------------- whose matches are aggregated

  /** The columns of a candidate row. */
  def bufferedOutput: Seq[Attribute] = otherPlan.output

  /** What else has to hold for a candidate, bound to the streamed row followed by the candidate. */
  def pairResidual: Option[Expression] =
    range.residual.map(bindReference(_, streamedPlan.output ++ otherPlan.output))

  /** The side whose rows may have their matches aggregated; None where rows of the other side come out. */
  def aggregatedFor: Option[Side] =
    if (behavior.emission == EveryPair && !behavior.preservesBuffered && best.isEmpty)
      Some(streamedSide)
    else None

  /** What the matches of a row are in the order of, if they are one run. */
  def sortBound: Option[RangeBound] = range.sortBound

  /** Whether pairs in the range may be no matches. */
  def hasResidual: Boolean = range.residual.isDefined

  /** Whether streamed rows without a match come out. */
  def preservesStreamed: Boolean = behavior.preservesStreamed

  /** What `rows` makes of the scan of each partition, instead of the rows of this join. */
  final def scanned(rows: CandidateScanner => Iterator[InternalRow]): RDD[InternalRow] =
    // Subqueries of the condition have to have run.
    executeQuery(doScan(rows))

  protected def doScan(rows: CandidateScanner => Iterator[InternalRow]): RDD[InternalRow]

  // ---------------------------------------------------------------- what it runs with

  protected def outputFactory: () => JoinOutput = JoinOutput.factory(
    pairResidual,
    stock.output.zipWithIndex.collect {
      case (a, i) if !isAdded(a) => BoundReference(i, a.dataType, a.nullable)
    },
    streamedSide,
    left.output.size,
    right.output.size,
    longMetric("numOutputRows")
  )

  // Lets the loop check a fused LIMIT; otherwise it would go on searching after the limit has all its rows.
  override protected def canCheckLimitNotReached: Boolean = true

  /** The columns of the left side and then those of the right. */
  protected def leftFirst[A](streamed: Seq[A], other: Seq[A]): Seq[A] =
    if (streamLeft) streamed ++ other else other ++ streamed

  /** Code for one row of the output. */
  protected def emit(ctx: CodegenContext, columns: Seq[ExprCode]): String =
    s"""
       |${metricTerm(ctx, "numOutputRows")}.add(1);
       |${consume(ctx, columns)}
     """.stripMargin
}

private[rangejoin] object WithTagsOf {

  /** A node in the place of another one. Spark finds by the logical plan of a node what a stage stands for. */
  def apply[P <: SparkPlan](replaced: SparkPlan)(node: P): P = {
    node.copyTagsFrom(replaced)
    node
  }
}

/** Metrics of a node that are known on the driver. */
private[rangejoin] object DriverMetrics {

  /** Sets metrics of a node, by their names, and sends them to the SQL tab of the running query. */
  def post(node: SparkPlan, values: (String, Long)*): Unit = {
    values.foreach { case (name, value) => node.longMetric(name).set(value) }
    val execution = node.session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    val metrics = values.map { case (name, _) => node.longMetric(name) }
    SQLMetrics.postDriverMetricUpdates(node.session.sparkContext, execution, metrics)
  }
}

/**
 * Passes rows on, and ends whole-stage code generation there.
 *
 * Spark puts each child of its own shuffled joins into a separate code generation stage, and recognises these joins by
 * class. For range joins this node does that, and it also stands above a join of two inputs that `UNION` would
 * otherwise fuse with.
 */
case class CodegenBoundaryExec(child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output

  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override protected def doExecute(): RDD[InternalRow] = child.execute()

  override protected def withNewChildInternal(newChild: SparkPlan): CodegenBoundaryExec =
    copy(child = newChild)
}
