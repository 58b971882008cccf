// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions._
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A source of ten partitions of ten rows each: `p` is the partition, and `t` rises over all. */
class RuntimeFilteredSource extends TableProvider {

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    RuntimeFilteredSource.Schema

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]): Table = new RuntimeFilteredTable
}

object RuntimeFilteredSource {
  val Schema: StructType = new StructType().add("p", LongType).add("t", LongType)

  /** What rows are read for: a partition. */
  case class Part(p: Long) extends InputPartition
}

private class RuntimeFilteredTable extends SupportsRead {
  override def name: String = "numbers"
  override def schema: StructType = RuntimeFilteredSource.Schema
  override def capabilities: util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ScanBuilder {
      override def build(): Scan = new RuntimeFilteredScan
    }
}

/** Plans the partitions that a filter leaves, which comes while the query runs. */
private class RuntimeFilteredScan extends SupportsRuntimeV2Filtering with Batch {
  private var parts: Seq[Long] = 0L until 10L

  override def readSchema: StructType = RuntimeFilteredSource.Schema
  override def toBatch: Batch = this
  override def filterAttributes: Array[NamedReference] = Array(FieldReference("p"))

  override def filter(predicates: Array[Predicate]): Unit =
    for (predicate <- predicates if predicate.name == "IN") {
      val values = predicate.children.collect { case value: Literal[_] => value.value }.toSet[Any]
      parts = parts.filter(values.contains)
    }

  override def planInputPartitions: Array[InputPartition] =
    parts.map(RuntimeFilteredSource.Part(_): InputPartition).toArray

  override def createReaderFactory: PartitionReaderFactory = new RuntimeFilteredReaders
}

private class RuntimeFilteredReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new PartitionReader[InternalRow] {
      private[this] val p = partition.asInstanceOf[RuntimeFilteredSource.Part].p
      private[this] var i = -1L
      override def next(): Boolean = { i += 1; i < 10 }
      override def get(): InternalRow = InternalRow(p, p * 10 + i)
      override def close(): Unit = ()
    }
}
