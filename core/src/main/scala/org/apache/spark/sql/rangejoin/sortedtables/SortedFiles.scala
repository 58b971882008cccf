// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import scala.PartialFunction.cond

import org.apache.spark.rdd.{InputFileBlockHolder, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  Attribute,
  PlanExpression,
  SortOrder,
  UnsafeRow
}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.{BucketingUtils, FileFormat}
import org.apache.spark.sql.execution.{
  FileSourceScanExec,
  FilterExec,
  LeafExecNode,
  ProjectExec,
  SparkPlan
}
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.types.{DataType, DateType, StringType, TimestampType, UserDefinedType}

/**
 * Finds bucketed and sorted tables (`CLUSTERED BY .. SORTED BY ..`) below a side of a join. Stock Spark ignores their
 * order, because the concatenated files of a bucket are not in order.
 */
object SortedFiles {

  /**
   * The plan in the order of the files it reads. None if they have no order, if the nodes above the scan cannot be run
   * file by file, or if a bucket has more files than may be open at a time.
   */
  def inOrder(plan: SparkPlan): Option[MergeFilesExec] =
    for {
      scan <- scanBelow(plan)
      if plan.conf.getConf(RangeJoinConf.SortedTables) && plan.outputOrdering.isEmpty
      order = orderOf(plan, scan)
      if order.nonEmpty
      if mayBeOpen(scan)
    } yield MergeFilesExec(order, plan)

  /** Looks below nodes whose result for a row does not depend on its position. */
  private def scanBelow(plan: SparkPlan): Option[FileSourceScanExec] = plan match {
    case scan: FileSourceScanExec if scan.bucketedScan => Some(scan)
    case node @ (_: ProjectExec | _: FilterExec) if node.expressions.forall(_.deterministic) =>
      scanBelow(node.children.head)
    case _ => None
  }

  /** The order of each file, as far as its columns are read as they were sorted, in columns of the plan. */
  private def orderOf(plan: SparkPlan, scan: FileSourceScanExec): Seq[SortOrder] = {
    val format = scan.relation.fileFormat
    val (strict, others) = scan.relation.bucketSpec.toSeq.flatMap(_.sortColumnNames)
      .map(name => scan.output.find(_.name == name)).takeWhile(_.isDefined).flatten
      .span(column => keepsOrder(format, column.dataType) && !mayTie(format, column.dataType))
    val columns = strict ++ others.headOption.filter(column => keepsOrder(format, column.dataType))
    val ordered = InOrder(scan.output, columns.map(SortOrder(_, Ascending)))
    plan.transformUp { case `scan` => ordered }.outputOrdering
  }

  /**
   * Whether values that were sorted before they were written are in order when they are read. Text formats trim
   * strings, have values that stand for NULL, and timestamps without a zone. ORC stores a timestamp as the writer's
   * local time, so that another zone reads an hour of autumn twice. `ALTER TABLE` may give a column another collation,
   * and leaves the files as they are. The footer of a Parquet file is checked when the file is read ([[WrittenOrder]]),
   * for columns that are not nested in another.
   */
  private def keepsOrder(format: FileFormat, column: DataType): Boolean = cond(format) {
    case _ if column.existsRecursively(isCollated) => false
    case _: ParquetFileFormat                      =>
      WrittenOrder.isTime(column) || !column.existsRecursively(WrittenOrder.isTime)
    case _: OrcFileFormat => !column.existsRecursively(mayHoldTime)
  }

  /**
   * Whether values may be equal as they are read that were not when they were sorted, which leaves the
   * columns after them in no order. ORC has days in the calendar of Spark 2, which knows no 5 to 14
   * October 1582.
   */
  private def mayTie(format: FileFormat, column: DataType): Boolean =
    format.isInstanceOf[OrcFileFormat] && column.existsRecursively(_ == DateType)

  private[sortedtables] def isCollated(dataType: DataType): Boolean =
    dataType.isInstanceOf[StringType] && dataType != StringType

  private def mayHoldTime(dataType: DataType): Boolean =
    dataType == TimestampType || dataType.isInstanceOf[UserDefinedType[_]]

  /**
   * Whether all files of each bucket may be open at once, by their number and by the memory of their readers. Lists the
   * current files, and does not use the scan's own list (`selectedPartitions`), which the scan would then keep: a query
   * is planned before it runs, and has to read the files that are there when it runs.
   */
  private def mayBeOpen(scan: FileSourceScanExec): Boolean = {
    val maxFiles = scan.conf.getConf(InternalConf.SortedTablesFiles)
    val maxBytes = scan.conf.getConf(RangeJoinConf.SortedTablesBytes)
    val block = blockSize(scan)
    buckets(scan).forall { lengths =>
      lengths.size <= maxFiles &&
      (lengths.size <= 1 || lengths.iterator.map(math.min(_, block)).sum <= maxBytes)
    }
  }

  /** The lengths of the files of each bucket that the scan reads. */
  private def buckets(scan: FileSourceScanExec): Iterable[Seq[Long]] = {
    val filters = scan.partitionFilters.filterNot(_.exists(_.isInstanceOf[PlanExpression[_]]))
    val files = scan.relation.location.listFiles(filters, Nil).flatMap(_.files)
    files
      .groupBy { file =>
        val bucket = BucketingUtils.getBucketId(file.getPath.getName)
        scan.optionalNumCoalescedBuckets.fold(bucket)(count => bucket.map(_ % count))
      }
      .values.map(_.map(_.getLen))
  }

  /** What a reader has in memory of a file, at most: a row group of Parquet, a stripe of ORC. */
  private def blockSize(scan: FileSourceScanExec): Long = {
    val relation = scan.relation
    val conf = relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)
    relation.fileFormat match {
      case _: OrcFileFormat => conf.getLong("orc.stripe.size", 64L << 20)
      case _                => conf.getLong("parquet.block.size", 128L << 20)
    }
  }

  /** Stands for a scan, to see what becomes of its order above. */
  private case class InOrder(
      override val output: Seq[Attribute],
      override val outputOrdering: Seq[SortOrder]
  ) extends LeafExecNode {
    override protected def doExecute(): RDD[InternalRow] =
      throw new IllegalStateException("not part of a plan that is run")
  }
}

/**
 * Rows that are said to be in order, one at a time; checks that they are.
 *
 * @param key of no other source; has the sort columns of the current row
 * @param outOfOrder the error for a row that is less than the one before
 */
private[sortedtables] final class SortedSource(
    rows: Iterator[UnsafeRow],
    val key: SortKey,
    outOfOrder: () => Throwable
) extends Iterator[InternalRow] {
  private[this] var isOpen = false

  /**
   * The first call opens the file, which sets `input_file_name()`. It is unset here: a sort in this place would have
   * read all files, after which there is none.
   */
  override def hasNext: Boolean =
    if (isOpen) rows.hasNext
    else {
      isOpen = true
      val more = rows.hasNext
      InputFileBlockHolder.unset()
      more
    }

  override def next(): UnsafeRow = {
    val row = rows.next()
    if (!key.moveTo(row)) throw outOfOrder()
    row
  }
}
