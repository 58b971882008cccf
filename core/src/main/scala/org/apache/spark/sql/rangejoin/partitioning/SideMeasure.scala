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

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.duration.{Duration, FiniteDuration}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}

/**
 * Whether one side of a join without keys is small, which is found out by reading it: of a filtered side,
 * and of some sources, Spark has no estimate. A side that takes too long to measure is taken for large.
 *
 * At most two jobs. The first reads as many partitions as run at a time, which is all there is to do where the
 * side is large; the second reads the others. A task reads no more than makes the side large.
 *
 * @param limit the most bytes of a small side
 */
final class SideMeasure(val limit: Long) extends Probe("whether a side is small") {

  /** Whether the side is small; None until it has been measured. */
  def isSmall: Option[Boolean] = answer

  override def toString: String = s"at most $limit bytes"

  /** One patience for both jobs together. */
  override protected def answered(
      rows: RDD[InternalRow],
      columns: Seq[Attribute],
      patience: Duration): Boolean = {
    val left = patience match {
      case finite: FiniteDuration => val end = finite.fromNow; () => end.timeLeft.max(Duration.Zero)
      case endless                => () => endless
    }
    def bytes(partitions: Seq[Int], most: Long): Option[Long] =
      ofEach(rows, partitions, left())(SideMeasure.bytes(_, most)).map(_.sum).filter(_ <= most)
    val (first, others) = rows.partitions.indices.splitAt(rows.sparkContext.defaultParallelism)
    bytes(first, limit).flatMap(some => bytes(others, limit - some)).isDefined
  }
}

object SideMeasure {

  /** The bytes of rows, or more than `most`. */
  private def bytes(rows: Iterator[InternalRow], most: Long): Long = {
    var sum = 0L
    while (sum <= most && rows.hasNext) {
      sum += (rows.next() match {
        case row: UnsafeRow => row.getSizeInBytes
        case row            => 8L * (row.numFields + 1)
      })
    }
    sum
  }
}
