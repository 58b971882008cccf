// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

/** The scan of one partition in a join of two inputs. */
trait PartitionScan extends AutoCloseable {

  /** The scanner of a join that keeps no rows of the side that is not streamed. */
  def scanner: CandidateScanner

  /** The scanner of a join that keeps them. */
  def pairScanner: PairScanner

  /** Gives back what is held, once no more rows are needed. */
  override def close(): Unit
}
