// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.io.ObjectOutputStream

import scala.PartialFunction.cond
import scala.annotation.tailrec

import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.join.{AwaitsOtherShuffle, DriverMetrics}
import org.apache.spark.sql.rangejoin.kernel.GuardedValue
import org.apache.spark.sql.types.{IntegerType, MetadataBuilder}
import org.apache.spark.{Dependency, Partition, ShuffleDependency, TaskContext}

/**
 * Adds the bucket of a row as a column, by which both sides of a join without keys are then shuffled and
 * joined. A row of the owner gets one bucket; a row of the other side comes out once for each bucket that may
 * hold a match (see [[BucketLayout]]), which may be none. An owner of intervals is shuffled first, since its
 * shuffle counts the lengths that decide on copies. Under adaptive execution [[DeferShuffleExec]] waits for
 * that shuffle; otherwise the stage of the copies comes after it.
 *
 * Promises nothing of the partitioning of its child: there is always a shuffle by bucket above.
 *
 * @param bounds of this side, as the partitioning has them, over the columns of the child
 * @param bucket the column
 * @param lengths what this side has in common with the other one, on the driver
 * @param best which copies are enough, where each row of the owner wants its best matches alone
 */
case class RangeBucketExec(
    isOwner: Boolean,
    bounds: Seq[Expression],
    bucket: Attribute,
    @transient lengths: OwnerLengths,
    child: SparkPlan,
    best: Option[BestOrder] = None
) extends UnaryExecNode with CodegenSupport with AwaitsOtherShuffle {

  def partitioning: JoinPartitioning = lengths.partitioning

  override def output: Seq[Attribute] = child.output :+ bucket

  override def producedAttributes: AttributeSet = AttributeSet(bucket)

  override def outputPartitioning: Partitioning =
    UnknownPartitioning(child.outputPartitioning.numPartitions)

  // The shuffle above stands for the logical plan of the child, and for nothing of the join.
  override def logicalLink: Option[LogicalPlan] = child.logicalLink

  override def stringArgs: Iterator[Any] = Iterator(
    if (isOwner) "owner" else if (best.isDefined) "copies of the best" else "copies",
    bounds.filterNot(_.isInstanceOf[GuardedValue]).mkString("[", ", ", "]"),
    bucket,
    if (lengths != null && partitioning.isSingle) "one bucket"
    else "boundaries: quantiles of both sides"
  )

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "numBuckets" -> SQLMetrics.createMetric(sparkContext, "number of buckets"),
    "largestBucket" -> SQLMetrics.createMetric(
      sparkContext,
      "rows of the largest bucket (estimated)"),
    "samplingTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to choose the buckets")
  ) ++ (if (isOwner) Nil
        else Seq("numCopies" -> SQLMetrics.createMetric(sparkContext, "number of copies")))

  private def ordinals: BoundColumns = partitioning.range.bounds(isOwner).ordinals

  /** The shuffle of the owner, which has to run before that of the copies. */
  @transient private var ofOwner: Option[ShuffleExchangeExec] = None

  override def showOtherShuffle(other: ShuffleExchangeExec): Unit = if (!isOwner) {
    ofOwner = RangeBucketExec.below(other)
      .filter(owner => owner.isOwner && owner.lengths.eq(lengths))
      .map(_ => other)
  }

  @transient private lazy val layoutRef = new LayoutRef(() => currentLayout)

  /** Whether the copies still have to come after the shuffle of the owner. */
  @transient @volatile private var isBeforeOwner = false

  private def currentLayout: BucketLayout =
    if (isOwner) lengths.ofOwner else if (isBeforeOwner) null else lengths.ofCopies

  /** Whether the lengths of rows are counted. */
  private def isCounted: Boolean = isOwner && !partitioning.range.isPoint

  // In the thread that prepares the plan: that of the query, or from Spark 4.0 on, under adaptive execution, one
  // of the stage's own. Not when rows are asked for: below a broadcast that is in a thread of the broadcast pool,
  // where the sample might wait for a broadcast of its own that finds no free thread.
  override protected def doPrepare(): Unit = {
    lengths.begun(isOwner).set(Some(()))
    partitioning.get()
  }

  /** Rows of the child: those of an owner are counted, and those of copies are read when that has been done. */
  private def withLayout(input: RDD[InternalRow]): RDD[InternalRow] = {
    val chosen = partitioning.get()
    DriverMetrics.post(this, "numBuckets" -> chosen.buckets, "largestBucket" -> chosen.largest)
    if (isOwner) DriverMetrics.post(this, "samplingTime" -> chosen.millis)
    if (isCounted) layoutRef.lengths = lengths.count(sparkContext, input.getNumPartitions)
    val owner = ofOwner.filter(_ => lengths.isPending)
    isBeforeOwner = owner.isDefined
    owner.fold(input)(shuffle => new AfterShuffleRDD(input, () => afterShuffle(shuffle)))
  }

  private def afterShuffle(shuffle: ShuffleExchangeExec): ShuffleDependency[_, _, _] = {
    val dependency = shuffle.shuffleDependency
    isBeforeOwner = false
    dependency
  }

  // ---------------------------------------------------------------- interpreted

  override protected def doExecute(): RDD[InternalRow] = {
    val (ref, outputTypes) = (layoutRef, output.map(_.dataType).toArray)
    val columns = new KeyedColumns(Nil, bounds, ordinals, child.output)
    val (isOwner0, preservesOwner) = (isOwner, partitioning.range.preservesOwner)
    val rowsOut = longMetric("numOutputRows")
    val numCopies = if (isOwner) null else longMetric("numCopies")
    val best = this.best
    withLayout(child.execute()).mapPartitionsWithIndexInternal { (index, rows) =>
      val joined = new JoinedRow
      val added = new GenericInternalRow(1)
      val project = UnsafeProjection.create(outputTypes)
      def withBucket(row: InternalRow, id: Int): UnsafeRow = {
        added.setInt(0, id)
        rowsOut += 1
        project(joined(row, added))
      }
      val assigned =
        new BucketAssigner(ref.layout, columns, isOwner0, preservesOwner, ref.lengths, best)
          .start(index)
      new PartitionedRows(rows, assigned, copiesRows = false, numCopies).map(to =>
        withBucket(to._2, to._1))
    }
  }

  // ---------------------------------------------------------------- generated

  // The best rows of a task leave it behind all others.
  override def supportCodegen: Boolean = best.isEmpty

  override def inputRDDs(): Seq[RDD[InternalRow]] = {
    // Code is also generated to be looked at: only when there are rows it is about to run.
    lazy val inputs = child.asInstanceOf[CodegenSupport].inputRDDs()
    withLayout(inputs.head) +: inputs.tail
  }

  override protected def doProduce(ctx: CodegenContext): String =
    child.asInstanceOf[CodegenSupport].produce(ctx, this)

  // A row of the other side is used again for its next copy.
  override def usedInputs: AttributeSet = if (isOwner) references else inputSet

  override def needCopyResult: Boolean =
    !isOwner || child.asInstanceOf[CodegenSupport].needCopyResult

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val ref = ctx.addReferenceObj("layoutRef", layoutRef)
    val layoutClass = classOf[BucketLayout].getName
    val layout =
      ctx.addMutableState(layoutClass, "layout", v => s"$v = $ref.layout();", forceInline = true)
    ctx.currentVars = input
    val values = bindReferences(bounds, child.output).map(_.genCode(ctx))
    ctx.currentVars = input
    val isNull =
      ordinals.all.map(values(_).isNull.toString).filterNot(_ == "false").mkString(" || ")
    val (cells, find) = rowCells(ctx, layout, values)
    val id = ctx.freshName("bucket")
    val column = ExprCode(FalseLiteral, JavaCode.variable(id, IntegerType))
    val out = s"""
                 |${metricTerm(ctx, "numOutputRows")}.add(1);
                 |${consume(ctx, input :+ column)}
       """.stripMargin
    val assign =
      if (isOwner) {
        val lengths = if (isCounted) countedLengths(ctx, ref) else "null"
        val isKept = isNull.nonEmpty && partitioning.range.preservesOwner
        s"""
           |int $id;
           |${if (isKept) s"if ($isNull) $id = $layout.anyId(partitionIndex); else" else ""} {
           |  $find
           |  $id = $cells.ownerId($layout, $lengths);
           |}
           |$out
         """.stripMargin
      } else find + "\n" + copiesCode(ctx, layout, cells, id, out)
    val isDropped = isNull.nonEmpty && !(isOwner && partitioning.range.preservesOwner)
    s"""
       |${values.map(_.code.toString).mkString("\n")}
       |${if (isDropped) s"if (!($isNull))" else ""} {
       |  $assign
       |}
     """.stripMargin
  }

  /** A copy for each bucket that cells of a row are in. */
  private def copiesCode(
      ctx: CodegenContext,
      layout: String,
      cells: String,
      id: String,
      out: String): String = {
    val (count, lengthClass) = (ctx.freshName("count"), ctx.freshName("lengthClass"))
    val (at, last) = (ctx.freshName("at"), ctx.freshName("last"))
    s"""
       |int $count = 0;
       |for (int $lengthClass = 0; $lengthClass < $layout.numClasses(); $lengthClass++) {
       |  int $last = $layout.lastBucket($lengthClass, $cells.first(), $cells.last());
       |  for (int $at = $layout.firstBucket($lengthClass, $cells.first()); $at <= $last; $at++) {
       |    int $id = $layout.id($at);
       |    if ($count++ > 0) ${metricTerm(ctx, "numCopies")}.add(1);
       |    $out
       |  }
       |}
     """.stripMargin
  }

  /** What finds the cells of a row, and the call that does so. */
  private def rowCells(
      ctx: CodegenContext,
      layout: String,
      values: Seq[ExprCode]): (String, String) = {
    val bounds = ctx.addReferenceObj("bounds", ordinals)
    val cellsClass = classOf[RowCells].getName
    val cells = ctx.addMutableState(
      cellsClass,
      "cells",
      v => s"$v = new $cellsClass($bounds, $isOwner, partitionIndex);",
      forceInline = true)
    def bound(at: Option[Int]): String = at.fold("0L, null") { i =>
      if (ordinals.isLossless) s"${values(i).value}, null"
      else {
        val value = values(i + 1)
        s"${values(i).value}, ${value.isNull} ? null : (Object) ${value.value}"
      }
    }
    (cells, s"$cells.find($layout.cells(), ${bound(ordinals.low)}, ${bound(ordinals.high)});")
  }

  private def countedLengths(ctx: CodegenContext, ref: String): String = ctx.addMutableState(
    classOf[LengthCounter].getName,
    "lengths",
    v => s"$v = $ref.lengths(); $v.begin(partitionIndex);",
    forceInline = true)

  override protected def withNewChildInternal(newChild: SparkPlan): RangeBucketExec =
    copy(child = newChild)
}

object RangeBucketExec {
  private val Key = "rangejoin.bucket"

  /** A new column for buckets. */
  def newBucket(): Attribute = AttributeReference(
    "range_bucket",
    IntegerType,
    nullable = false,
    new MetadataBuilder().putBoolean(Key, value = true).build())()

  /** The node that gave rows their buckets, below the exchange that has shuffled them, or its stage. */
  @tailrec
  def below(plan: SparkPlan): Option[RangeBucketExec] = plan match {
    case buckets: RangeBucketExec                                          => Some(buckets)
    case stage: QueryStageExec                                             => below(stage.plan)
    case reused: ReusedExchangeExec                                        => below(reused.child)
    case node @ (_: Exchange | _: WholeStageCodegenExec | _: InputAdapter) =>
      below(node.children.head)
    case _ => None
  }

  /** Whether a join key is the bucket of a row. */
  def isBucket(key: Expression): Boolean =
    cond(key) { case a: Attribute => a.metadata.contains(Key) }
}

/**
 * Holds the layout for tasks, since generated code exists before it. A stage sends the layout that is there
 * when the stage is submitted, also when it is submitted again.
 */
final class LayoutRef(@transient current: () => BucketLayout) extends Serializable {
  private var sent: BucketLayout = _

  /** What counts the lengths of the owner's rows; null where they are not counted. */
  var lengths: LengthCounter = _

  /** The layout, in a task. */
  def layout: BucketLayout = sent

  private def writeObject(out: ObjectOutputStream): Unit = synchronized {
    sent = current()
    out.defaultWriteObject()
  }
}

/**
 * The same rows, in a stage that begins when a shuffle has run, though it reads nothing of that.
 *
 * @param shuffle called in the thread that submits the first job over the rows, whose error it is if it fails
 */
private[partitioning] final class AfterShuffleRDD(
    @transient rows: RDD[InternalRow],
    @transient shuffle: () => ShuffleDependency[_, _, _]
) extends RDD[InternalRow](rows) {

  override protected def getPartitions: Array[Partition] = rows.partitions

  override protected def getDependencies: Seq[Dependency[_]] = super.getDependencies :+ shuffle()

  override protected def getOutputDeterministicLevel: DeterministicLevel.Value =
    rows.outputDeterministicLevel

  override protected def getPreferredLocations(split: Partition): Seq[String] =
    firstParent[InternalRow].preferredLocations(split)

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    firstParent[InternalRow].iterator(split, context)
}
