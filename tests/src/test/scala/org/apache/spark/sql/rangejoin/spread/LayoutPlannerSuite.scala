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

package org.apache.spark.sql.rangejoin.spread

import org.apache.spark.sql.types.{DataType, LongType, StringType}

import org.scalatest.funsuite.AnyFunSuite

class LayoutPlannerSuite extends AnyFunSuite {

  private def points(rows: Int, weight: Double): SideSample =
    SideSample(Some(Array.tabulate(rows)(i => Position(i, null))), None, Array.fill(rows)(weight))

  private def layout(owner: SideSample, copied: SideSample, of: DataType): BucketLayout =
    new LayoutPlanner(of, owner, copied, 800, isForced = false).layout(Lengths.Zero, 200)

  test("few buckets where rows of the other side may be in each of them") {
    val none = Some(Array.empty[Position])
    def copied(others: Double) = SideSample(none, none, Array.empty, others)
    def buckets(others: Double) = layout(points(2000, 50), copied(others), LongType).numBuckets
    assert(buckets(0) == 800)
    // Copies are to be no more than the rows of both sides.
    for (others <- Seq(1000.0, 50000.0, 1000000.0)) {
      val most = 1.1 * (100000 + others) / others
      assert(buckets(others) <= math.max(1, most) && buckets(others) >= most / 4, others)
    }
  }

  test("one bucket where there are no boundaries") {
    val none = SideSample(Some(Array.empty[Position]), None, Array.empty, 1e6)
    assert(layout(none, none.copy(high = none.low), StringType).numBuckets == 1)
  }
}
