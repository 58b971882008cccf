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

package org.apache.spark.sql.rangejoin.merge

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, FullOuter, JoinType}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.{ShuffledJoin, SortMergeJoinExec}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.join.{
  ExplainedJoin,
  JoinOutput,
  PairScannerIterator,
  PairTestSpec,
  PreparedInPairs,
  RangeJoinIterator,
  ScannerCodegen
}
import org.apache.spark.sql.rangejoin.kernel.{KernelSpec, RangeBound}
import org.apache.spark.sql.rangejoin.scan.{
  FullOuterRangeScanner,
  RangeScannerFactory,
  ScanOrder,
  StreamedRangeScanner,
  WindowMetrics
}
import org.apache.spark.util.CompletionIterator

/**
 * A sort-merge join whose condition holds a range on top of the equi keys. Both sides come sorted
 * by key and, within a key, by a bound of the range; [[RangeScanner]] slides a window over the
 * buffered side, so that only rows within the range are ever paired.
 *
 * Takes the place of a `SortMergeJoinExec` late in planning and promises what that node promised:
 * output, partitioning, and the order by key. The range is derived from `condition`, which stays
 * whole, so that the node can always be explained, rewritten and compared like the stock one. A
 * condition without a range is taken as well: every row of a key is within it.
 *
 * @param leftRangeKey column of the left child, after its own columns, that holds the bound the
 *   left side is sorted by; None where a column of the left side itself is in that order
 * @param rightRangeKey likewise for the right side
 */
case class SortMergeRangeJoinExec(
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    condition: Option[Expression],
    leftRangeKey: Option[Attribute],
    rightRangeKey: Option[Attribute],
    left: SparkPlan,
    right: SparkPlan,
    isSkewJoin: Boolean = false
) extends ShuffledJoin {

  private lazy val range: RangeCondition = RangeExtractor
    .normalForm(joinType, condition, left.outputSet, right.outputSet)
    .fold(reason => throw new IllegalStateException(reason.message), identity)

  private lazy val behavior: JoinTypeBehavior = JoinTypeBehavior.of(joinType).get

  private lazy val streamLeft = range.streamed == LeftSide
  private lazy val (streamedPlan, bufferedPlan) = if (streamLeft) (left, right) else (right, left)
  private lazy val (streamedKeys, bufferedKeys) =
    if (streamLeft) (leftKeys, rightKeys) else (rightKeys, leftKeys)

  /** The stock join that this node stands for. */
  private def stock: SortMergeJoinExec =
    SortMergeJoinExec(leftKeys, rightKeys, joinType, condition, left, right, isSkewJoin)

  /** The columns of the stock join over these children. */
  private def outputWithRangeKeys: Seq[Attribute] = super.output

  override def output: Seq[Attribute] = {
    val rangeKeys = AttributeSet(leftRangeKey ++ rightRangeKey)
    outputWithRangeKeys.filterNot(rangeKeys.contains)
  }

  override def outputOrdering: Seq[SortOrder] = stock.outputOrdering

  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(
    ScanOrder.of(leftKeys, range.orderOf(LeftSide), leftRangeKey),
    ScanOrder.of(rightKeys, range.orderOf(RightSide), rightRangeKey)
  )

  override lazy val metrics: Map[String, SQLMetric] = WindowMetrics.create(sparkContext)

  private def explained: ExplainedJoin = new ExplainedJoin(this, Some(range), streamLeft)

  override def verboseStringWithOperatorId(): String = {
    val notCut = getTagValue(SortMergeRangeJoinExec.NotCut).map("Heavy keys not cut" -> _)
    explained.paragraph(formattedNodeName, "Buffered side", notCut.toSeq: _*)
  }

  override def stringArgs: Iterator[Any] = explained.args(joinType).iterator

  private def scannerFactory: RangeScannerFactory = {
    val (streamedRangeKey, bufferedRangeKey) =
      if (streamLeft) (leftRangeKey, rightRangeKey) else (rightRangeKey, leftRangeKey)
    def ofStreamed(e: Expression) = bindReference(e, streamedPlan.output)
    def ofBuffered(e: Expression) = bindReference(e, bufferedPlan.output)
    // Where the range key is the bound it need not be evaluated again.
    def known(bound: RangeBound, rangeKey: Option[Attribute]): Expression =
      rangeKey.filter(_ => bound.isLossless).getOrElse(bound)
    RangeScannerFactory(
      KernelSpec(
        streamedKeys.map(ofStreamed),
        bufferedKeys.map(ofBuffered),
        lower = range.lowerBound.map(bound => ofStreamed(known(bound, streamedRangeKey))),
        upper = range.upperBound.map(ofStreamed),
        sortBound = range.sortBound.map(bound => ofBuffered(known(bound, bufferedRangeKey))),
        evictBound = range.evictBound.map(ofBuffered)
      ),
      bufferedPlan.output.size,
      PairTestSpec.of(range, condition.getOrElse(Literal.TrueLiteral)).map(ofPair),
      behavior,
      RangeScannerFactory.limits(conf),
      WindowMetrics.of(metrics)
    )
  }

  private def ofPair(e: Expression): Expression =
    bindReference(e, streamedPlan.output ++ bufferedPlan.output)

  override protected def doPrepare(): Unit = PreparedInPairs.prepare(left, right)

  // ---------------------------------------------------------------- interpreted

  override protected def doExecute(): RDD[InternalRow] = {
    val factory = scannerFactory
    val newOutput = outputFactory
    val behavior = this.behavior
    val inputs = Seq(left, right)
    streamedPlan.execute().zipPartitions(bufferedPlan.execute()) { (streamed, buffered) =>
      val rows: Iterator[InternalRow] =
        if (behavior.keepsBuffered) {
          new PairScannerIterator(factory.createFullOuter(streamed, buffered), newOutput())
        } else {
          RangeJoinIterator(factory.create(streamed, buffered), behavior, newOutput())
        }
      // A side that is not read to its end would hold its sorted rows as long as the task runs.
      CompletionIterator[InternalRow, Iterator[InternalRow]](
        rows,
        inputs.foreach(_.cleanupResources()))
    }
  }

  private def outputFactory: () => JoinOutput = JoinOutput.factory(
    range.residual.map(ofPair),
    bindReferences(output, outputWithRangeKeys),
    range.streamed,
    left.output.size,
    right.output.size,
    longMetric("numOutputRows")
  )

  // ---------------------------------------------------------------- generated

  override def inputRDDs(): Seq[RDD[InternalRow]] =
    streamedPlan.execute() :: bufferedPlan.execute() :: Nil

  // After each row the loop asks whether to stop, so that no two are on their way at a time.
  override def needCopyResult: Boolean = false

  // The scan goes on after a fused LIMIT has all its rows unless the loop asks.
  override protected def canCheckLimitNotReached: Boolean = true

  // The stock join has settings of its own for these.
  override def supportCodegen: Boolean = joinType match {
    case FullOuter        => conf.getConf(SQLConf.ENABLE_FULL_OUTER_SORT_MERGE_JOIN_CODEGEN)
    case _: ExistenceJoin => conf.getConf(SQLConf.ENABLE_EXISTENCE_SORT_MERGE_JOIN_CODEGEN)
    case _                => true
  }

  override protected def doProduce(ctx: CodegenContext): String = {
    // In the place of the node's name, which is no identifier for a skewed join.
    ctx.freshNamePrefix = "smrj"
    val factory = ctx.addReferenceObj("scannerFactory", scannerFactory)
    val (scannerClass, create) =
      if (behavior.keepsBuffered) (classOf[FullOuterRangeScanner].getName, "createFullOuter")
      else (classOf[StreamedRangeScanner].getName, "create")
    val scanner = ctx.addMutableState(
      scannerClass,
      "scanner",
      v => s"$v = $factory.$create(inputs[0], inputs[1]);",
      forceInline = true
    )
    val loop = new ScannerCodegen(
      ctx,
      scanner,
      streamedPlan.output,
      bufferedPlan.output,
      range.residual,
      asksOften = false,
      limitNotReachedCond,
      shouldStopCheckCode
    )
    val rows = loop.loop(behavior) { (streamed, buffered) =>
      s"""
         |${metricTerm(ctx, "numOutputRows")}.add(1);
         |${consume(ctx, shown(streamed, buffered))}
       """.stripMargin
    }
    s"""
       |$rows
       |${ctx.addReferenceObj("plan", this)}.cleanupResources();
     """.stripMargin
  }

  /** The columns of the output, without the range keys. */
  private def shown(streamed: Seq[ExprCode], buffered: Seq[ExprCode]): Seq[ExprCode] = {
    val columns = if (streamLeft) streamed ++ buffered else buffered ++ streamed
    val rangeKeys = AttributeSet(leftRangeKey ++ rightRangeKey)
    outputWithRangeKeys.zip(columns).collect {
      case (attribute, column) if !rangeKeys.contains(attribute) => column
    }
  }

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan
  ): SortMergeRangeJoinExec =
    copy(left = newLeft, right = newRight)
}

object SortMergeRangeJoinExec {

  /** Why heavy keys that were found when the join was about to run are not divided over tasks. */
  val NotCut: TreeNodeTag[String] = TreeNodeTag[String]("rangejoin.notCut")
}
