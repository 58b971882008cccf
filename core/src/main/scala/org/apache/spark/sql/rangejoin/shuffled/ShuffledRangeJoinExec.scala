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

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.optimizer.{BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.rangejoin.RangeJoinConf
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.index.{IndexJoin, RangeIndexMode}
import org.apache.spark.sql.rangejoin.join._
import org.apache.spark.sql.rangejoin.kernel.KernelSpec
import org.apache.spark.sql.rangejoin.scan.{RangeScannerFactory, ScanOrder, WindowMetrics}
import org.apache.spark.sql.rangejoin.sort.PrefixSorter
import org.apache.spark.util.CompletionIterator

/**
 * A join of two shuffled sides whose condition holds a range on top of the equi keys: the build side of
 * each partition becomes an index of the range, and the streamed side is read once, in any order.
 * Neither is sorted, unless there is no memory for the index ([[PartitionJoin]]).
 *
 * Takes the place of a `ShuffledHashJoinExec` late in planning and promises what that node promised:
 * output, partitioning, and the order of the streamed side. The range is derived from `condition`,
 * which stays whole, so that the node can always be explained, rewritten and compared like the stock one.
 */
case class ShuffledRangeJoinExec(
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    buildSide: BuildSide,
    condition: Option[Expression],
    left: SparkPlan,
    right: SparkPlan,
    isSkewJoin: Boolean = false
) extends ShuffledJoin {

  private lazy val streamLeft = buildSide == BuildRight
  private lazy val streamedSide: Side = if (streamLeft) LeftSide else RightSide
  private lazy val (streamedPlan, buildPlan) = if (streamLeft) (left, right) else (right, left)
  private lazy val (streamedKeys, buildKeys) =
    if (streamLeft) (leftKeys, rightKeys) else (rightKeys, leftKeys)

  /** The range, or why there is none that this join serves. */
  def extracted: Either[Reason, RangeCondition] =
    RangeExtractor.extract(
      joinType,
      condition,
      left.outputSet,
      right.outputSet,
      Some(streamedSide)).flatMap(inOrder)

  /** Likewise, where a condition without a range is taken as well: every row of a key is within it. */
  lazy val normalForm: Either[Reason, RangeCondition] = taken.flatMap(inOrder)

  private def taken: Either[Reason, RangeCondition] =
    RangeExtractor.normalForm(
      joinType,
      condition,
      left.outputSet,
      right.outputSet,
      Some(streamedSide))

  /** Where both sides are sorted, rows come in the order of the keys and the range. */
  private def inOrder(range: RangeCondition): Either[Reason, RangeCondition] =
    Either.cond(
      SortOrder.orderingSatisfies(streamedOrder(range), stock.outputOrdering),
      range,
      Reason.OrderedStreamedSide(stock.outputOrdering))

  private lazy val range: RangeCondition = taken.fold(
    reason => throw new IllegalStateException(s"$reason:\n${simpleStringWithNodeId()}"),
    identity)

  private lazy val behavior: JoinTypeBehavior = JoinTypeBehavior.of(joinType, streamedSide).get

  /** The stock join that this node stands for. */
  @transient private lazy val stock: ShuffledHashJoinExec = ShuffledHashJoinExec(
    leftKeys,
    rightKeys,
    joinType,
    buildSide,
    condition,
    left,
    right,
    isSkewJoin)

  /** A side may turn out to be in order only when this join is in its place. */
  override def outputOrdering: Seq[SortOrder] =
    if (normalForm.isRight) stock.outputOrdering else Nil

  /** As in Spark's hash joins, which sort nothing. */
  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(Nil, Nil)

  override lazy val metrics: Map[String, SQLMetric] = WindowMetrics.create(sparkContext) ++ Map(
    "buildDataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size of build side"),
    "buildTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to build the index"),
    "sortedPartitions" ->
      SQLMetrics.createMetric(sparkContext, "number of partitions sorted for lack of memory")
  )

  private def explained: ExplainedJoin =
    new ExplainedJoin(this, normalForm.toOption, streamLeft)

  override def verboseStringWithOperatorId(): String =
    explained.paragraph(formattedNodeName, "Build side")

  override def stringArgs: Iterator[Any] = explained.args(joinType, buildSide).iterator

  @transient private lazy val join = IndexJoin(
    HashJoin.rewriteKeyExpr(streamedKeys),
    range,
    condition.getOrElse(Literal.TrueLiteral),
    behavior,
    streamedPlan.output,
    buildPlan.output
  )

  private def ofBuild(e: Expression): Expression =
    BindReferences.bindReference(e, buildPlan.output)

  private def mode: RangeIndexMode = RangeIndexMode(
    HashJoin.rewriteKeyExpr(buildKeys).map(ofBuild),
    range.sortBound.map(ofBuild),
    range.evictBound.map(ofBuild),
    range.sortBound.filterNot(_.isLossless).map(bound => ofBuild(bound.sortKey)),
    range.evictBound.filterNot(_.isLossless).map(bound => ofBuild(bound.sortKey)),
    if (range.sortBound.isEmpty && range.evictBound.isEmpty) Int.MaxValue
    else conf.getConf(RangeJoinConf.SmallGroup)
  )()

  private def streamedOrder(range: RangeCondition): Seq[SortOrder] =
    ScanOrder.of(streamedKeys, range.lowerBound)

  private def sorting: SideSorting = SideSorting(
    bindReferences(streamedOrder(range), streamedPlan.output),
    streamedPlan.output.size,
    bindReferences(ScanOrder.of(buildKeys, range.sortBound), buildPlan.output),
    buildPlan.output.size,
    PrefixSorter.firstLevel(conf)
  )

  private def window: RangeScannerFactory = RangeScannerFactory(
    KernelSpec(
      streamedKeys.map(join.ofStreamed),
      buildKeys.map(ofBuild),
      lower = range.lowerBound.map(join.ofStreamed),
      upper = range.upperBound.map(join.ofStreamed),
      sortBound = range.sortBound.map(ofBuild),
      evictBound = range.evictBound.map(ofBuild)
    ),
    buildPlan.output.size,
    PairTestSpec.of(range, join.condition).map(join.ofPair),
    behavior,
    RangeScannerFactory.limits(conf),
    WindowMetrics.of(metrics)
  )

  /** @param generated whether Spark's join would be generated: it then evaluates keys in any case */
  private def factory(generated: Boolean): PartitionJoinFactory = PartitionJoinFactory(
    mode,
    conf.getConf(RangeJoinConf.IndexLimit),
    join.scannerFactory,
    sorting,
    window,
    generated || behavior.keepsBuffered || !behavior.needsNoKeyOverNoRows,
    PartitionJoinMetrics(
      longMetric("buildDataSize"),
      longMetric("buildTime"),
      longMetric("sortedPartitions"),
      WindowMetrics.of(metrics))
  )

  // ---------------------------------------------------------------- interpreted

  override protected def doExecute(): RDD[InternalRow] = {
    val joins = factory(generated = false)
    val newOutput = outputFactory
    val behavior = this.behavior
    streamedPlan.execute().zipPartitions(buildPlan.execute()) { (streamed, build) =>
      val join = joins.create(streamed, build)
      val rows: Iterator[InternalRow] =
        if (behavior.keepsBuffered) new PairScannerIterator(join.pairScanner, newOutput())
        else RangeJoinIterator(join.scanner, behavior, newOutput())
      // A task of several partitions would hold the index of each.
      CompletionIterator[InternalRow, Iterator[InternalRow]](rows, join.close())
    }
  }

  private def outputFactory: () => JoinOutput = JoinOutput.factory(
    range.residual.map(join.ofPair),
    bindReferences(output, output),
    streamedSide,
    left.output.size,
    right.output.size,
    longMetric("numOutputRows")
  )

  // ---------------------------------------------------------------- generated

  override def inputRDDs(): Seq[RDD[InternalRow]] =
    streamedPlan.execute() :: buildPlan.execute() :: Nil

  // After each row the loop asks whether to stop, so that no two are on their way at a time.
  override def needCopyResult: Boolean = false

  // The scan goes on after a fused LIMIT has all its rows unless the loop asks.
  override protected def canCheckLimitNotReached: Boolean = true

  // The stock join has settings for some join types.
  override def supportCodegen: Boolean = stock.supportCodegen

  override protected def doProduce(ctx: CodegenContext): String = {
    // In the place of the node's name, which is no identifier for a skewed join.
    ctx.freshNamePrefix = "shrj"
    val joins = ctx.addReferenceObj("joins", factory(generated = true))
    val join = ctx.addMutableState(
      classOf[PartitionJoin].getName,
      "join",
      v => s"$v = $joins.create(inputs[0], inputs[1]);",
      forceInline = true
    )
    val scanner = ctx.freshName("scanner")
    val (scannerClass, get) =
      if (behavior.keepsBuffered) (classOf[PairScanner].getName, "pairScanner")
      else (classOf[CandidateScanner].getName, "scanner")
    val loop = new ScannerCodegen(
      ctx,
      scanner,
      streamedPlan.output,
      buildPlan.output,
      range.residual,
      asksOften = true,
      limitNotReachedCond,
      shouldStopCheckCode
    )
    val rows = loop.loop(behavior) { (streamed, build) =>
      s"""
         |${metricTerm(ctx, "numOutputRows")}.add(1);
         |${consume(ctx, shown(streamed, build))}
       """.stripMargin
    }
    s"""
       |$scannerClass $scanner = $join.$get();
       |$rows
       |$join.close();
     """.stripMargin
  }

  private def shown(streamed: Seq[ExprCode], build: Seq[ExprCode]): Seq[ExprCode] =
    if (streamLeft) streamed ++ build else build ++ streamed

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan
  ): ShuffledRangeJoinExec =
    copy(left = newLeft, right = newRight)
}

object ShuffledRangeJoinExec {

  /** The range join in the place of a shuffled hash join. */
  def of(join: ShuffledHashJoinExec): ShuffledRangeJoinExec = ShuffledRangeJoinExec(
    join.leftKeys,
    join.rightKeys,
    join.joinType,
    join.buildSide,
    join.condition,
    join.left,
    join.right,
    join.isSkewJoin)
}
