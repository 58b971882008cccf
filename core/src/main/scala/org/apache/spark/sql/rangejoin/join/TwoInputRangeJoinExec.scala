// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.execution.CodegenSupport
import org.apache.spark.sql.rangejoin.condition.Side
import org.apache.spark.sql.rangejoin.kernel.RangeBound
import org.apache.spark.util.CompletionIterator

/** A range join of two inputs, partition by partition: what those share beyond [[RangeJoinExec]]. */
trait TwoInputRangeJoinExec extends RangeJoinExec {

  /** The bound that a side has to be sorted by within its keys where it is sorted, if there is one. */
  def orderOf(side: Side): Option[RangeBound] =
    if (best.isDefined) range.preferredOrderOf(side) else range.orderOf(side)

  /**
   * What a task needs to create its scan of a partition.
   *
   * @param generated whether in generated code
   */
  protected def scans(generated: Boolean): PartitionScanFactory

  /** The class of the scanner, which generated code calls directly. */
  protected def scannerClass: Class[_] =
    if (behavior.preservesBuffered) classOf[PairScanner] else classOf[CandidateScanner]

  /** Whether the scanner evaluates the condition for many candidates, as in [[ScannerCodegen]]. */
  protected def asksOften: Boolean

  /** What names in generated code begin with: that of a skewed join is no identifier. */
  protected def codegenPrefix: String

  override protected def doExecute(): RDD[InternalRow] = {
    val newOutput = outputFactory
    val behavior = this.behavior
    ofPartitions { scan =>
      if (behavior.preservesBuffered) RangeJoinIterator(scan.pairScanner, newOutput())
      else RangeJoinIterator(scan.scanner, behavior, newOutput())
    }
  }

  override protected def doScan(
      rows: CandidateScanner => Iterator[InternalRow]): RDD[InternalRow] =
    ofPartitions(scan => rows(scan.scanner))

  private def ofPartitions(rows: PartitionScan => Iterator[InternalRow]): RDD[InternalRow] = {
    val scans = this.scans(generated = false)
    val sides = inputRDDs()
    sides.head.zipPartitions(sides.last) { (streamed, other) =>
      val scan = scans.create(streamed, other)
      // Otherwise it would be held as long as the task runs, which may have several partitions.
      CompletionIterator[InternalRow, Iterator[InternalRow]](rows(scan), scan.close())
    }
  }

  /** The streamed and the other side, whose partitions in the same place are joined. */
  override def inputRDDs(): Seq[RDD[InternalRow]] =
    Seq(streamedPlan.execute(), otherPlan.execute())

  // After each row the loop asks whether to stop, so that no two are on their way at a time.
  override def needCopyResult: Boolean = false

  // The stock join has settings for some join types.
  override def supportCodegen: Boolean = stock match {
    case join: CodegenSupport => join.supportCodegen
    case _                    => true
  }

  override protected def doProduce(ctx: CodegenContext): String = {
    ctx.freshNamePrefix = codegenPrefix
    val scans = ctx.addReferenceObj(
      "scans",
      this.scans(generated = true),
      classOf[PartitionScanFactory].getName)
    val scan = ctx.addMutableState(
      classOf[PartitionScan].getName,
      "scan",
      v => s"$v = $scans.create(inputs[0], inputs[1]);",
      forceInline = true
    )
    val scanner = ctx.freshName("scanner")
    val loop = new ScannerCodegen(
      ctx,
      scanner,
      streamedPlan.output,
      otherPlan.output,
      range.residual,
      asksOften,
      marksMatches = bestOrder.isDefined,
      limitNotReachedCond,
      shouldStopCheckCode
    )
    val (className, get) =
      (scannerClass.getName, if (behavior.preservesBuffered) "pairScanner" else "scanner")
    s"""
       |$className $scanner = ($className) $scan.$get();
       |${loop.loop(behavior)((streamed, other) => emit(ctx, shown(streamed, other)))}
       |$scan.close();
     """.stripMargin
  }

  private def shown(streamed: Seq[ExprCode], other: Seq[ExprCode]): Seq[ExprCode] =
    stock.output.zip(leftFirst(streamed, other)).collect {
      case (attribute, column) if !isAdded(attribute) => column
    }
}

/** The scan of one partition in a join of two inputs. */
trait PartitionScan extends AutoCloseable {

  /** The scanner of a join that keeps no rows of the side that is not streamed. */
  def scanner: CandidateScanner

  /** The scanner of a join that keeps them. */
  def pairScanner: PairScanner

  /** Gives back what is held, once no more rows are needed. */
  override def close(): Unit
}

/** Creates the scan of a partition, in a task. Interpreted and generated code both start here. */
trait PartitionScanFactory extends Serializable {
  def create(streamed: Iterator[InternalRow], other: Iterator[InternalRow]): PartitionScan
}
