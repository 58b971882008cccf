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

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SparkPlan

/** Reads a sample of the bounds of both sides, in one job. */
private[rangejoin] object BoundSampling {

  private val RowsPerPart = 60

  private val LeastRows = 2000L

  /** They are sorted on the driver. */
  private val MostRows = 250000L

  /** How many rows of each side to draw, to divide them into so many buckets or places. */
  def sizeFor(parts: Long): Int = (parts * RowsPerPart).max(LeastRows).min(MostRows).toInt

  private[spread] def position(row: InternalRow, at: Int, of: BoundColumns): Position = {
    val long = row.getLong(at)
    val hasValue = !of.isLossless && long != Long.MinValue && long != Long.MaxValue
    Position(long, if (hasValue) row.get(at + 1, of.dataType) else null)
  }

  /** A plan of the bounds of a side, and what they mean. */
  case class Side(plan: SparkPlan, bounds: SideBounds)

  /** About so many rows of either side, all rows with the same chance in each partition. */
  def sample(owner: Side, copied: Side, size: Int): (SideSample, SideSample) = {
    val (ofOwner, ofCopied) = Reservoir.sample(source(owner, size), source(copied, size))
    (positions(ofOwner, owner.bounds), positions(ofCopied, copied.bounds))
  }

  private def source(side: Side, size: Int): Reservoir.Source = Reservoir.Source(
    DrawRowsExec.drawn(side.plan, size, side.bounds.places.all),
    side.bounds.columns.size)

  private def positions(sampled: Reservoir.Sampled, bounds: SideBounds): SideSample = {
    val of = bounds.places
    def positions(at: Int) = sampled.rows.map { case (row, _) => position(row, at, of) }
    SideSample(
      of.low.map(positions),
      of.high.map(positions),
      sampled.rows.map(_._2),
      sampled.others)
  }
}
