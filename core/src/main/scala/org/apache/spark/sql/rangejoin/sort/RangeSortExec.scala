// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.PartialFunction.cond

import org.apache.spark.TaskContext
import org.apache.spark.rdd.{InputFileBlockHolder, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{SortExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.rangejoin.kernel.{GuardedValue, RangeBound}

/**
 * Sorts each partition by several columns, all ascending, like `SortExec`, which has a radix sort for a single column
 * only. This node packs the columns into one [[PrefixLayout prefix]].
 *
 * If the child is in order by the first columns already, the sort is incremental: one group of rows that are equal in
 * these columns at a time, as rows are requested ([[GroupSorter]]). The number of these columns is derived from the
 * child and not stored: adaptive execution may replace the child.
 *
 * @param sortOrder the order; its `sameOrderExpressions` are promised above, and not used to sort
 */
case class RangeSortExec(sortOrder: Seq[SortOrder], child: SparkPlan) extends UnaryExecNode {
  require(sortOrder.forall(RangeSortExec.isPlain))

  /** The first columns, by which the child is in order. */
  @transient lazy val presorted: Seq[SortOrder] = RangeSortExec.presorted(sortOrder, child)

  private def isIncremental: Boolean = presorted.nonEmpty && presorted.size < sortOrder.size

  /** Whether rows are put in order one group at a time, at least if need be. */
  def mayGroup: Boolean =
    isIncremental || (wholeSortLevel == PrefixSorter.FirstLevel && sortColumns.mayGroup)

  private def sortColumns = new SortColumns(boundOrder, output.size)

  override def output: Seq[Attribute] = child.output

  override def outputOrdering: Seq[SortOrder] = sortOrder

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override def stringArgs: Iterator[Any] = Iterator[Any](sortOrder) ++
    (if (isIncremental) Some(presorted.map(_.child).mkString("presorted: [", ", ", "]")) else None)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "sortTime" -> SQLMetrics.createTimingMetric(sparkContext, "sort time"),
    "peakMemory" -> SQLMetrics.createSizeMetric(sparkContext, "peak memory"),
    "spillSize" -> SQLMetrics.createSizeMetric(sparkContext, "spill size")
  ) ++ (if (isIncremental) metricsOfGroups else Nil)

  private def metricsOfGroups: Seq[(String, SQLMetric)] = Seq(
    "numGroups" -> SQLMetrics.createMetric(sparkContext, "number of groups sorted"),
    "numLargeGroups" -> SQLMetrics.createMetric(sparkContext, "number of large groups")
  )

  // Releases the sorter of the task that has this copy of the plan, as in SortExec.
  @transient private var release: () => Unit = _

  override protected def doExecute(): RDD[InternalRow] =
    if (isIncremental) sortedByGroups() else sortedWhole()

  private def sortedWhole(): RDD[InternalRow] = {
    val sortTime = longMetric("sortTime")
    val peakMemory = longMetric("peakMemory")
    val spillSize = longMetric("spillSize")
    val level = wholeSortLevel
    child.execute().mapPartitionsInternal { rows =>
      val sorter = new PrefixSorter(sortColumns, level)
      release = () => sorter.cleanupResources()
      TaskContext.get().addTaskCompletionListener[Unit] { context =>
        sortTime += NANOSECONDS.toMillis(sorter.sortTimeNanos)
        peakMemory += sorter.peakMemory
        spillSize += sorter.spillSize
        context.taskMetrics().incPeakExecutionMemory(sorter.peakMemory)
      }
      SortedOnDemand(rows.asInstanceOf[Iterator[UnsafeRow]], sorter)
    }
  }

  /** A child that was in order when this node was placed may have been replaced by one that is not. */
  private[sort] def wholeSortLevel: Int = PrefixSorter.firstLevel(conf)

  private def sortedByGroups(): RDD[InternalRow] = {
    val sortTime = longMetric("sortTime")
    val peakMemory = longMetric("peakMemory")
    val spillSize = longMetric("spillSize")
    val numGroups = longMetric("numGroups")
    val numLargeGroups = longMetric("numLargeGroups")
    val columnsInOrder = presorted.size
    val levelOfLarge = wholeSortLevel
    child.execute().mapPartitionsInternal { rows =>
      val sorter = new GroupSorter(boundOrder, columnsInOrder, output.size, levelOfLarge)
      release = () => sorter.cleanupResources()
      TaskContext.get().addTaskCompletionListener[Unit] { context =>
        sortTime += NANOSECONDS.toMillis(sorter.sortTimeNanos)
        peakMemory += sorter.peakMemory
        spillSize += sorter.spillSize
        numGroups += sorter.numGroups
        numLargeGroups += sorter.numLargeGroups
        context.taskMetrics().incPeakExecutionMemory(sorter.peakExecutionMemory)
      }
      sorter.sorted(rows.asInstanceOf[Iterator[UnsafeRow]])
    }
  }

  private def boundOrder: Seq[SortOrder] =
    bindReferences(sortOrder.map(_.copy(sameOrderExpressions = Nil)), output)

  override protected[sql] def cleanupResources(): Unit = {
    if (release != null) release()
    super.cleanupResources()
  }

  override protected def withNewChildInternal(newChild: SparkPlan): RangeSortExec =
    copy(child = newChild)
}

object RangeSortExec {

  /** The sort of a side by this order: this node if it can win, else Spark's. */
  def sort(order: Seq[SortOrder], child: SparkPlan): SparkPlan = {
    val isIncremental = presorted(order, child).nonEmpty
    // Spark radix-sorts a single column, too.
    val isRadix = child.conf.enableRadixSort && order.size > 1
    if (order.forall(isPlain) && order.tail.forall(o => isEvaluated(o.child, child)) &&
      (isIncremental || isRadix)) {
      RangeSortExec(order, child)
    } else SortExec(order, global = false, child)
  }

  /**
   * Whether a column after the first may be evaluated for every row. `SortExec` evaluates it for ties only, so an
   * expression that may raise must not be evaluated for other rows here.
   */
  private def isEvaluated(column: Expression, plan: SparkPlan): Boolean = column match {
    case _: Attribute | _: Literal | _: RangeBound | _: GuardedValue => true
    // The bucket that a row is written to: a hash raises no error.
    case Pmod(hash: HashExpression[_], _: Literal, _) =>
      hash.children.forall(isEvaluated(_, plan))
    case _ => cond(plan.outputPartitioning) {
        // The rows were partitioned by this column, so it has been evaluated for every row already.
        case partitioned: Expression => partitioned.exists {
            case by: Partitioning => by.children.exists(_.semanticEquals(column))
            case _                => false
          }
      }
  }

  /** The first columns of an order that a plan is in order by. */
  private def presorted(order: Seq[SortOrder], plan: SparkPlan): Seq[SortOrder] =
    order.zip(plan.outputOrdering).takeWhile { case (needed, by) => by.satisfies(needed) }.map(_._1)

  private[rangejoin] def isPlain(order: SortOrder): Boolean =
    order.direction == Ascending && order.nullOrdering == NullsFirst
}

/**
 * The rows of a partition in order, which are not read before the first one of them is requested: a join that finds its
 * other side empty does not sort this one. Whether there are rows is known before. Looking for them opens the first
 * file of a scan, which sets `input_file_name()`; it is set again when rows are read, since the other side may have
 * been read in between.
 */
private[rangejoin] sealed class SortedOnDemand private[sort] (
    rows: Iterator[UnsafeRow],
    sorter: PrefixSorter
) extends Iterator[UnsafeRow] {
  protected var sorted: Iterator[UnsafeRow] = _
  // Null before the first `hasNext`.
  private var nameFile: () => Unit = _

  override def hasNext: Boolean =
    if (sorted != null) sorted.hasNext
    else {
      val more = !sorter.isReleased && rows.hasNext
      if (nameFile == null) nameFile = naming()
      more
    }

  override def next(): UnsafeRow = {
    if (sorted == null) {
      if (nameFile != null) nameFile()
      sort()
    }
    sorted.next()
  }

  protected def sort(): Unit = {
    rows.foreach(sorter.insert)
    sorted = sorter.sorted()
  }

  /** Remembers which file is being read now; the result sets it again. */
  private def naming(): () => Unit = {
    val path = InputFileBlockHolder.getInputFilePath.toString
    val (start, length) = (InputFileBlockHolder.getStartOffset, InputFileBlockHolder.getLength)
    if (path.isEmpty) () => () else () => InputFileBlockHolder.set(path, start, length)
  }
}

private[rangejoin] object SortedOnDemand {
  def apply(rows: Iterator[UnsafeRow], sorter: PrefixSorter): SortedOnDemand =
    if (sorter.mayGroup) new GroupedOnDemand(rows, sorter) else new SortedOnDemand(rows, sorter)
}

/** Likewise, of a sorter that may leave the order within groups to the consumer: it shows when rows were sorted. */
private[sort] final class GroupedOnDemand(rows: Iterator[UnsafeRow], sorter: PrefixSorter)
    extends SortedOnDemand(rows, sorter) with GroupedRows {
  private var inAnyOrder = false
  // Null where rows are in order.
  private var groups: GroupedRows = _

  override def columnsInCommon: Int = sorter.columnsInCommon

  override def isInOrder: Boolean = groups == null

  override def takeInAnyOrder(): Unit = inAnyOrder = true

  override protected def sort(): Unit = {
    super.sort()
    sorted match {
      case grouped: GroupedRows =>
        groups = grouped
        if (inAnyOrder) groups.takeInAnyOrder()
      case _ =>
    }
  }

  override def sortGroup(before: Iterator[UnsafeRow], current: UnsafeRow): Unit =
    groups.sortGroup(before, current)
}
