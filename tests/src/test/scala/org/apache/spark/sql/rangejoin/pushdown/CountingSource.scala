// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import java.util.{EnumSet, Set => JSet}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.expressions.aggregate.{Aggregation, CountStar}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.sources.{Filter, IsNotNull}
import org.apache.spark.sql.types.{IntegerType, LongType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A source of the second API that counts its rows by a column if Spark has it do so. */
class CountingSource extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = CountingSource
}

private object CountingSource extends Table with SupportsRead {
  private val Values = (0 until 90).map(_ * 70 % 500)

  override def name(): String = "counting"

  override def schema(): StructType = new StructType().add("at", IntegerType)

  override def capabilities(): JSet[TableCapability] = EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new Builder

  private class Builder extends SupportsPushDownAggregates with SupportsPushDownFilters {
    private var counts = false

    /** No value is NULL. */
    override def pushFilters(filters: Array[Filter]): Array[Filter] =
      filters.filterNot(_.isInstanceOf[IsNotNull])

    override def pushedFilters(): Array[Filter] = Array.empty

    override def pushAggregation(aggregation: Aggregation): Boolean = {
      counts = aggregation.aggregateExpressions.forall(_.isInstanceOf[CountStar])
      counts
    }

    override def build(): Scan =
      if (counts) scan(schema().add("n", LongType), countsOfValues)
      else scan(schema(), Values.map(InternalRow(_)))

    private def countsOfValues =
      Values.groupBy(identity).map { case (at, all) => InternalRow(at, all.size.toLong) }.toSeq
  }

  private def scan(schema: StructType, found: Seq[InternalRow]): Scan = new LocalScan {
    override def readSchema(): StructType = schema
    override def rows(): Array[InternalRow] = found.toArray
  }
}
