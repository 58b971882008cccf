// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.merge

import scala.PartialFunction.condOpt

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.{ShuffledJoin, SortMergeJoinExec}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.best.BestMatches
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.join._
import org.apache.spark.sql.rangejoin.scan._

/**
 * A sort-merge join whose condition holds a range on top of the keys. Both sides come sorted
 * by key and, within a key, by a bound of the range; [[RangeScanner]] slides a window over the
 * buffered side, so that only rows within the range are ever paired.
 *
 * Order: streamed rows are scanned one after the other, as they come. So what comes out for streamed rows alone
 * (`JoinTypeBehavior.keepsStreamedOrder`) is in the whole order of the streamed side: by keys and bound, as a rule.
 * Neither a window on disk, nor best matches, nor aggregates of matches change that; each task of a skewed key has
 * sorted its rows by itself. One thing does: of keys with few rows a side that is sorted key by key is taken as it
 * comes ([[GatheringScanner]]). That is not done where `keepsOrder` is set, and nothing but the order by keys is
 * promised where it is not. Being a part of the node, it holds whatever adaptive execution puts below.
 *
 * Replaces a `SortMergeJoinExec`. A condition without a range is accepted as well: then every row of a key is in range.
 *
 * @param leftRangeKey column of the left child, after its own columns, that holds the bound the
 *   left side is sorted by; None where a column of the left side itself is in that order
 * @param rightRangeKey the same for the right side
 * @param streamed the side that has to be streamed; None where the range decides, or what `best` asks for
 * @param keepsOrder whether rows come out in the whole order of the streamed side, and not by its keys alone
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
    isSkewJoin: Boolean = false,
    best: Option[BestMatches] = None,
    streamed: Option[Side] = None,
    keepsOrder: Boolean = false
) extends ShuffledJoin
    with SortedScanExec {

  override def withBest(best: Option[BestMatches]): SortMergeRangeJoinExec = copy(best = best)

  override protected def fixedSide: Option[Side] =
    best.map(_.streamedSide(left.outputSet)).orElse(streamed)

  override protected def otherSideName: String = "Buffered side"

  override def asStock: SortMergeJoinExec =
    SortMergeJoinExec(leftKeys, rightKeys, joinType, condition, left, right, isSkewJoin)

  override protected def isAdded(column: Attribute): Boolean =
    (leftRangeKey ++ rightRangeKey).exists(_.exprId == column.exprId)

  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(
    ScanOrder.of(leftKeys, orderOf(LeftSide), leftRangeKey),
    ScanOrder.of(rightKeys, orderOf(RightSide), rightRangeKey)
  )

  /** What the stock join promises, and then what else the streamed side is in order by. */
  override def outputOrdering: Seq[SortOrder] = {
    val byKeys = super.outputOrdering
    if (!keepsOrder || !behavior.keepsStreamedOrder) byKeys
    else byKeys ++ streamedPlan.outputOrdering.drop(byKeys.size).map(shown).takeWhile(
      _.isDefined).flatten
  }

  /** An order in the columns of the output, which a bound that was added is not. */
  private def shown(order: SortOrder): Option[SortOrder] = {
    val columns = AttributeSet(streamedPlan.output.filterNot(isAdded))
    condOpt(order.children.filter(_.references.subsetOf(columns))) {
      case first +: others => order.copy(child = first, sameOrderExpressions = others)
    }
  }

  /** This join, with the order of its streamed side kept. */
  def inOrder: SortMergeRangeJoinExec = WithTagsOf(this)(copy(keepsOrder = true))

  override lazy val metrics: Map[String, SQLMetric] = WindowMetrics.create(sparkContext)

  override protected def moreFields: Seq[(String, String)] =
    getTagValue(SortMergeRangeJoinExec.NotSplit).map("Skewed keys not split" -> _).toSeq

  override protected def rangeKey(side: Side): Option[Attribute] =
    side.of(leftRangeKey, rightRangeKey)

  override protected def doPrepare(): Unit = AwaitsOtherShuffle.prepare(left, right)

  override protected def scans(generated: Boolean): PartitionScanFactory =
    SortedSides(scannerFactory(keepsOrder), Seq(left, right))

  override protected def scannerClass: Class[_] =
    if (behavior.preservesBuffered) classOf[BufferedPreservingScanner]
    else classOf[StreamedRangeScanner]

  override protected def asksOften: Boolean = false

  override protected def codegenPrefix: String = "smrj"

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan
  ): SortMergeRangeJoinExec =
    copy(left = newLeft, right = newRight)
}

object SortMergeRangeJoinExec {

  /**
   * The range join that replaces a sort-merge join; its sides are not yet in order by the range.
   */
  def of(join: SortMergeJoinExec): SortMergeRangeJoinExec = SortMergeRangeJoinExec(
    join.leftKeys,
    join.rightKeys,
    join.joinType,
    join.condition,
    None,
    None,
    join.left,
    join.right,
    join.isSkewJoin)

  /** Why skewed keys that were found when the join was about to run are not split. */
  val NotSplit: TreeNodeTag[String] = TreeNodeTag[String]("rangejoin.notSplit")
}

/** Scans of two sides that come sorted. */
private[merge] case class SortedSides(factory: RangeScannerFactory, sides: Seq[SparkPlan])
    extends PartitionScanFactory {

  override def create(
      streamed: Iterator[InternalRow],
      buffered: Iterator[InternalRow]
  ): PartitionScan = new PartitionScan {
    private[this] val scan: RangeScanner = factory.createScanner(streamed, buffered)

    override def scanner: CandidateScanner = scan.asInstanceOf[CandidateScanner]

    override def pairScanner: PairScanner = scan.asInstanceOf[PairScanner]

    // A side that is not read to its end would hold its sorted rows as long as the task runs.
    override def close(): Unit = sides.foreach(_.cleanupResources())
  }
}
