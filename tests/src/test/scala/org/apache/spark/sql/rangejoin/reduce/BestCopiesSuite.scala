/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.reduce

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.partitioning.RangeBucketExec

/** Joins without keys by range buckets. */
class BestCopiesSuite extends BestCopiesTest {
  import BestMatchesTest._

  override protected def quickTypes: Set[String] = Set("DECIMAL(12, 2)")

  override protected def keyed(range: String): String = range

  override protected def inBuckets(buckets: Int): Form = byBuckets(buckets)

  private def copied(df: DataFrame): RangeBucketExec =
    only(collect(executedPlan(df)) { case buckets: RangeBucketExec if !buckets.isOwner => buckets })

  override protected def copiesBest(df: DataFrame): Option[Boolean] =
    Some(copied(df).best.isDefined)

  override protected def numCopies(df: DataFrame): Long = copied(df).metrics("numCopies").value
}
