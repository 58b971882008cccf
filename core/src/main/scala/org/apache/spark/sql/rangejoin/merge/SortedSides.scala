// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.rangejoin.join.{
  CandidateScanner,
  PairScanner,
  PartitionScan,
  PartitionScanFactory
}
import org.apache.spark.sql.rangejoin.scan.{RangeScanner, RangeScannerFactory}

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
