// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import scala.PartialFunction.condOpt

import org.apache.spark.TaskContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.rangejoin.best.{BestMatches, BestOrder}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.index._
import org.apache.spark.sql.rangejoin.join.{CandidateScanner, DriverMetrics, RangeJoinIterator}
import org.apache.spark.sql.rangejoin.shims.HashJoins

/**
 * A join with one side broadcast, and a range in its condition, with or without equi keys. The broadcast side is a
 * [[RangeIndex]]: a streamed row looks up its key and, in the rows of the key, those in its range. The streamed side is
 * neither shuffled nor sorted.
 *
 * Where rows of the broadcast side come out without a match, or are all that comes out, its tasks mark
 * those that have one ([[MarkedRows]]).
 *
 * Replaces a `BroadcastHashJoinExec` or, if there are no keys, a `BroadcastNestedLoopJoinExec`.
 */
case class BroadcastRangeJoinExec(
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    buildSide: BuildSide,
    condition: Option[Expression],
    left: SparkPlan,
    right: SparkPlan,
    isSkewJoin: Boolean = false,
    best: Option[BestMatches] = None
) extends IndexedRangeJoinExec {

  override def withBest(best: Option[BestMatches]): BroadcastRangeJoinExec = copy(best = best)

  override protected def otherSideName: String = "Broadcast side"

  override lazy val extracted: Either[Reason, RangeCondition] =
    for {
      range <- super.extracted
      _ <- BuildBounds.withSubquery(range)
        .map(bound => Reason.SubqueryInBuildBound(bound.child))
        .toLeft(())
      _ <- Either.cond(!RangeIndexMode.needsRegistration, (), Reason.UnregisteredIndex)
    } yield range

  override lazy val normalForm: Either[Reason, RangeCondition] = extracted

  def buildPlan: SparkPlan = otherPlan

  private def buildKeys: Seq[Expression] = otherKeys

  /** Bounds may come after the columns of the build side. */
  override protected def isAdded(column: Attribute): Boolean = BuildBounds.isAdded(column)

  private def fewestOfSecond: Int = conf.getConf(InternalConf.SecondRangeThreshold)

  override protected lazy val second: Option[RangeCondition] =
    if (best.isDefined || fewestOfSecond == Int.MaxValue) None
    else {
      RangeExtractor.second(JoinCondition.of(this, fixedSide)).filter(BuildBounds.needNoTask)
    }

  private def secondBounds: Option[SecondBounds] =
    second.map(BuildBounds.ofSecond(_, buildColumns, fewestOfSecond))

  private lazy val buildBounds = BuildBounds(range, buildColumns, buildKeys)

  /** How the build side is broadcast. */
  def mode: RangeIndexMode = RangeIndexMode(
    bindReferences(packed(buildKeys), buildColumns),
    buildBounds.sort,
    buildBounds.evict,
    buildBounds.sortValue,
    buildBounds.evictValue,
    conf.getConf(InternalConf.LinearScanThreshold),
    keyTypes = buildKeys.map(_.dataType),
    sortMayBeUnknown = range.unknown.sort,
    evictMayBeUnknown = range.unknown.evict,
    second = secondBounds
  )(indexedColumns)

  /** What is indexed, as EXPLAIN shows it. */
  private def indexedColumns: String = {
    val ofRange = (range.sortBound ++ range.evictBound).map(_.child.toString).toSeq.distinct
    val keys = if (buildKeys.isEmpty) None else Some(buildKeys.mkString("[", ", ", "]"))
    (keys.toSeq :+ s"range: ${ofRange.mkString(", ")}").mkString(", ")
  }

  /**
   * The exchange that broadcasts the index of the rows of a plan: the build side, or one with the same columns.
   */
  def exchangeOver(build: SparkPlan): RangeIndexExchangeExec = {
    val columns = AttributeMap(buildColumns.zip(build.output))
    val bounds = buildBounds.added.map(_.transform {
      case column: Attribute => columns.getOrElse(column, column)
    }.asInstanceOf[NamedExpression])
    RangeIndexExchangeExec(mode, build, bounds)
  }

  /** Whether these are the keys by which an index of the plan's rows is looked up. */
  def isKeyedBy(keys: Seq[Expression], build: SparkPlan): Boolean =
    keys.nonEmpty && keys.map(_.dataType) == buildKeys.map(_.dataType) &&
      bindReferences(packed(keys), build.output).map(_.canonicalized) ==
      mode.keys.map(_.canonicalized)

  override def asStock: SparkPlan =
    if (leftKeys.isEmpty) {
      BroadcastNestedLoopJoinExec(left, right, buildSide, joinType, condition)
    } else {
      val join =
        BroadcastHashJoinExec(leftKeys, rightKeys, joinType, buildSide, condition, left, right)
      HashJoins.skewed(join, isSkewJoin)
    }

  /** This join over a stage that Spark's rules must not see. */
  def overHidden(stage: BroadcastQueryStageExec): IndexedStageJoinExec = IndexedStageJoinExec(
    leftKeys,
    rightKeys,
    joinType,
    buildSide,
    condition,
    isSkewJoin,
    stage,
    streamedPlan
  )

  override def requiredChildDistribution: Seq[Distribution] = {
    val wanted = mode
    // One that is reused may have been made for other bounds.
    val broadcast = BroadcastDistribution(buildPlan.outputPartitioning match {
      case BroadcastPartitioning(made: RangeIndexMode)
          if made.canonicalized == wanted.canonicalized =>
        made
      case _ => wanted
    })
    leftFirst(Seq(UnspecifiedDistribution), Seq(broadcast))
  }

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "numCandidates" -> SQLMetrics.createMetric(sparkContext, "number of candidates examined"),
    "indexSize" -> SQLMetrics.createSizeMetric(sparkContext, "index size"),
    "indexRows" -> SQLMetrics.createMetric(sparkContext, "number of rows in the index"),
    "indexTime" -> SQLMetrics.createNanoTimingMetric(sparkContext, "time to build the index")
  )

  override def stringArgs: Iterator[Any] =
    super.stringArgs ++ second.map("second range: " + shownRange(_)) ++
      Some("skew=true").filter(_ => isSkewJoin)

  override protected def moreFields: Seq[(String, String)] =
    second.map("Second range" -> shownRange(_)).toSeq

  /** The index, as it was built; its figures go to the metrics. */
  @transient private lazy val index: BuiltIndex = {
    val broadcast = RangeIndexExchangeExec.below(buildPlan).lookupFor(mode)
    val built = broadcast.value
    DriverMetrics.post(
      this,
      "indexSize" -> built.estimatedSize,
      "indexRows" -> built.size.toLong,
      "indexTime" -> built.buildNanos)
    BuiltIndex(
      CursorFactory(
        broadcast,
        Some(longMetric("numCandidates")),
        join.best,
        range.unknown,
        secondBounds),
      built.buildIsEmpty,
      built.keyIsUnique)
  }

  /** The index, where adaptive execution has had it built. */
  def builtIndex: Option[RangeIndex] = condOpt(buildPlan) {
    case stage: BroadcastQueryStageExec if stage.isMaterialized =>
      RangeIndexExchangeExec.below(stage).indexFor(mode).value
  }

  // ---------------------------------------------------------------- interpreted

  override protected def doExecute(): RDD[InternalRow] = {
    val newOutput = outputFactory
    val behavior = this.behavior
    if (behavior.marksBuffered) {
      val task = MarkingTask(join.scannerFactory, index.cursors, behavior, newOutput)
      MarkedRows.join(streamedPlan.execute(), task)
    } else doScan(RangeJoinIterator(_, behavior, newOutput()))
  }

  override def bufferedOutput: Seq[Attribute] = buildColumns

  override protected def doScan(
      rows: CandidateScanner => Iterator[InternalRow]): RDD[InternalRow] = {
    val factory = join.scannerFactory
    val cursors = index.cursors
    streamedPlan.execute().mapPartitions { streamed =>
      rows(factory.create(streamed, cursors.create()))
    }
  }

  // ---------------------------------------------------------------- generated

  /** Not where rows of the broadcast side are marked: stock's join is interpreted there as well. */
  override def supportCodegen: Boolean = !behavior.marksBuffered

  override def inputRDDs(): Seq[RDD[InternalRow]] =
    streamedPlan.asInstanceOf[CodegenSupport].inputRDDs()

  override def needCopyResult: Boolean =
    streamedPlan.asInstanceOf[CodegenSupport].needCopyResult ||
      (behavior.emission == EveryPair && !index.keyIsUnique)

  override protected def doProduce(ctx: CodegenContext): String =
    streamedPlan.asInstanceOf[CodegenSupport].produce(ctx, this)

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    // Where Spark's join is interpreted, every column of the streamed side is computed.
    val isLazy = stock.asInstanceOf[CodegenSupport].supportCodegen
    (if (isLazy) "" else evaluateVariables(input)) + joinOf(ctx, input)
  }

  private def joinOf(ctx: CodegenContext, input: Seq[ExprCode]): String =
    new BroadcastRangeJoinCodegen(ctx, join, index, input, limitNotReachedCond)
      .ofRow(build => emit(ctx, leftFirst(input, build)))

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan
  ): BroadcastRangeJoinExec =
    copy(left = newLeft, right = newRight)

  /** The range, where streamed rows that are in that of no row of the index are of no interest. */
  def rangeOfMatched: Option[RangeCondition] =
    if (behavior.visitsAllStreamed) None else extracted.toOption

  /** The same join with another plan of the streamed side. */
  def withStreamedPlan(streamed: SparkPlan): BroadcastRangeJoinExec =
    if (streamLeft) copy(left = streamed) else copy(right = streamed)

  /** The same join with another plan of the build side. */
  def withBuildPlan(build: SparkPlan): BroadcastRangeJoinExec =
    if (streamLeft) copy(right = build) else copy(left = build)
}

object BroadcastRangeJoinExec {

  /** The range join that replaces a broadcast hash join or a broadcast nested loop join. */
  def of(join: SparkPlan): Option[BroadcastRangeJoinExec] = condOpt(join) {
    case j: BroadcastHashJoinExec if !j.isNullAwareAntiJoin =>
      BroadcastRangeJoinExec(
        j.leftKeys,
        j.rightKeys,
        j.joinType,
        j.buildSide,
        j.condition,
        j.left,
        j.right,
        HashJoins.isSkewed(j))
    case j: BroadcastNestedLoopJoinExec =>
      BroadcastRangeJoinExec(Nil, Nil, j.joinType, j.buildSide, j.condition, j.left, j.right)
  }
}

/** An index that was built: how to get at it, and what code depends on. */
private[broadcast] case class BuiltIndex(
    cursors: CursorFactory,
    buildIsEmpty: Boolean,
    keyIsUnique: Boolean)

/**
 * Makes the cursors of tasks, and reports what they have done.
 *
 * @param candidates None where what they do is counted elsewhere
 * @param best which candidates of a streamed row are wanted; None for all of them
 * @param unknown which bounds may be unknown
 * @param second a second range to search by; None where there is none
 */
case class CursorFactory(
    index: Broadcast[RangeIndex],
    candidates: Option[SQLMetric],
    best: Option[BestOrder],
    unknown: UnknownBounds,
    second: Option[SecondBounds]
) {

  def create(): RangeCursor = {
    val relation = index.value
    val cursor = relation.cursor(best, unknown, second)
    TaskContext.get().taskMetrics().incPeakExecutionMemory(relation.estimatedSize)
    candidates.foreach { metric =>
      TaskContext.get().addTaskCompletionListener[Unit](_ => metric += cursor.candidates)
    }
    cursor
  }
}
