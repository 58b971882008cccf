// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import java.util

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.{
  Expressions,
  SortDirection,
  SortOrder => ReportedSortOrder,
  Transform
}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.{KeyGroupedPartitioning, Partitioning}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import org.scalatest.tagobjects.Slow

/** Tables of other sources, which tell Spark by what their rows are partitioned and sorted. */
class ReportedOrderSuite extends PreparedTablesTest {

  private val ByPartition = Seq(
    SQLConf.V2_BUCKETING_ENABLED.key -> "true",
    SQLConf.V2_BUCKETING_PUSH_PART_VALUES_ENABLED.key -> "true")

  private val Kinds =
    Seq("inner", "left_outer", "right_outer", "full_outer", "left_semi", "left_anti")

  private def reported(
      from: Int,
      rows: Int,
      splits: Int = 1,
      order: String = "k,t"): DataFrame =
    spark.read.format(classOf[ReportedOrderSource].getName)
      .option("from", from.toString).option("rows", rows.toString)
      .option("splits", splits.toString).option("order", order).load()

  test("partitioned by key and sorted by key and range: neither shuffled nor sorted") {
    withConf(ByPartition: _*) {
      for (kind <- Kinds)
        assertStreamed(join(reported(0, 300), reported(4, 200), kind), merged = 0)
      // Without NULLs the keys of the sides are not the same either.
      def positive = join(reported(0, 300).where("k > 1"), reported(4, 200).where("t >= 0"))
      assertStreamed(positive, merged = 0)
    }
  }

  test(
    "several splits of a key: not shuffled, and sorted, since the splits follow each other",
    Slow) {
    withConf(ByPartition: _*) {
      for (kind <- Kinds) {
        def df = join(reported(0, 300, splits = 3), reported(4, 200), kind)
        assert(checkAgainstStock(df) > 0)
        assert(shuffles(df) == 0 && sorts(df).size == 1, executedPlan(df))
      }
    }
  }

  test("sorted by the key alone: the rows of a key are sorted") {
    withConf(ByPartition: _*) {
      def df = join(reported(0, 300, order = "k"), reported(4, 200), "full_outer")
      assert(checkAgainstStock(df) > 0)
      assert(shuffles(df) == 0 && sorts(df).size == 1, executedPlan(df))
      assert(sorts(df).head.toString.contains("presorted: [k#"), executedPlan(df))
    }
  }

  test("where no order is reported, or partitions are not used, rows are sorted, or shuffled") {
    def unsorted = join(reported(0, 300, order = ""), reported(4, 200), "left_outer")
    withConf(ByPartition: _*) {
      assert(checkAgainstStock(unsorted) > 0)
      assert(shuffles(unsorted) == 0 && sorts(unsorted).size == 1, executedPlan(unsorted))
    }
    withConf(SQLConf.V2_BUCKETING_ENABLED.key -> "false") {
      assert(checkAgainstStock(unsorted) > 0)
      assert(shuffles(unsorted) == 2 && sorts(unsorted).size == 2, executedPlan(unsorted))
    }
  }
}

/**
 * Rows `(k, t, id)` that are made up: those with a key are in `splits` splits of their own.
 *
 * Options: `from` and `rows`, the first key and the number of rows; `splits`; `order`, the columns that
 * the rows of each split are sorted by, which is reported.
 */
class ReportedOrderSource extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    ReportedOrderSource.Schema

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]): Table = new Table with SupportsRead {
    override def name(): String = "reported"

    override def schema(): StructType = ReportedOrderSource.Schema

    override def capabilities(): util.Set[TableCapability] =
      util.EnumSet.of(TableCapability.BATCH_READ)

    override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
      () => new ReportedOrderScan(options)
  }
}

private object ReportedOrderSource {
  val Schema: StructType = new StructType().add("k", IntegerType).add("t", LongType)
    .add("id", LongType)

  val NumKeys = 9
}

private class ReportedOrderScan(options: CaseInsensitiveStringMap)
    extends Scan with Batch with SupportsReportPartitioning with SupportsReportOrdering {
  import ReportedOrderSource._

  private val order = options.get("order").split(",").filter(_.nonEmpty)

  private val splits: Seq[ReportedSplit] = {
    val rows = (0 until options.getInt("rows", 0)).map { i =>
      val scattered = (i * 7919L) % 104729
      val key = options.getInt("from", 0) + scattered % NumKeys
      (
        if (scattered % 13 == 0) None else Some(key.toInt),
        if (scattered % 11 == 0) None else Some(scattered * 31 % 97),
        i.toLong)
    }
    val isSorted = order.contains("t")
    rows.groupBy { case (k, _, id) => (k, id % options.getInt("splits", 1)) }.toSeq
      .sortBy { case ((k, split), _) => (k.map(-_), split) }
      .map { case ((key, _), ofKey) =>
        ReportedSplit(key, if (isSorted) ofKey.sortBy(_._2) else ofKey)
      }
  }

  override def readSchema(): StructType = Schema

  override def toBatch: Batch = this

  override def outputPartitioning(): Partitioning =
    new KeyGroupedPartitioning(
      Array(Expressions.identity("k")),
      splits.map(_.key).distinct.size)

  override def outputOrdering(): Array[ReportedSortOrder] =
    order.map(column => Expressions.sort(Expressions.column(column), SortDirection.ASCENDING))

  override def planInputPartitions(): Array[InputPartition] = splits.toArray

  override def createReaderFactory(): PartitionReaderFactory = ReportedOrderReaders
}

private case class ReportedSplit(
    key: Option[Int],
    rows: Seq[(Option[Int], Option[Long], Long)]) extends InputPartition with HasPartitionKey {
  override def partitionKey(): InternalRow = InternalRow(key.getOrElse[Any](null))
}

private object ReportedOrderReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new PartitionReader[InternalRow] {
      private val rows = partition.asInstanceOf[ReportedSplit].rows.iterator

      override def next(): Boolean = rows.hasNext

      override def get(): InternalRow = {
        val (k, t, id) = rows.next()
        InternalRow(k.getOrElse[Any](null), t.getOrElse[Any](null), id)
      }

      override def close(): Unit = ()
    }
}
