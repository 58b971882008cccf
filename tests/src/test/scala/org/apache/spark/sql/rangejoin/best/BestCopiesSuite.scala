// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.partitioning.RangeBucketExec

/** Joins without keys by range buckets. */
class BestCopiesSuite extends BestCopiesTest {
  import BestMatchesTest._

  override protected def types: Seq[String] =
    Seq("BIGINT", "INT", "DATE", "TIMESTAMP", "DOUBLE", "DECIMAL(12, 2)")

  override protected def quickTypes: Set[String] = Set("DECIMAL(12, 2)")

  override protected def keyed(range: String): String = range

  override protected def inBuckets(buckets: Int): Form = byBuckets(buckets)

  private def copied(df: DataFrame): RangeBucketExec =
    only(collect(executedPlan(df)) { case buckets: RangeBucketExec if !buckets.isOwner => buckets })

  override protected def copiesBest(df: DataFrame): Option[Boolean] =
    Some(copied(df).best.isDefined)

  override protected def numCopies(df: DataFrame): Long = copied(df).metrics("numCopies").value
}
