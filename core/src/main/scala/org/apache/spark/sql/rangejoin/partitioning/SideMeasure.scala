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

import java.util.concurrent.TimeUnit.NANOSECONDS
import java.util.concurrent.TimeoutException

import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.conf.{JobCancelled, JobDescription}
import org.apache.spark.util.ThreadUtils

/**
 * Whether one side of a join without keys is small, which is found out by reading it: of a filtered side,
 * and of some sources, Spark has no estimate. Found once, by whoever asks first.
 *
 * At most two jobs. The first reads as many partitions as run at a time, which is all there is to do where the
 * side is large; the second reads the others. A task reads no more than makes the side large.
 *
 * Lives on the driver. Only the choice of a plan may depend on it, since the rows may differ when they are
 * read again.
 *
 * @param limit the most bytes of a small side
 */
final class SideMeasure(val limit: Long) extends Logging {

  @volatile private var found: Option[Boolean] = None

  /** Whether the side is small; None until it has been measured. */
  def isSmall: Option[Boolean] = found

  /**
   * Measures the side, unless that has been done. Whatever fails here fails again in the query itself, whose
   * error it then is: the side is taken for large.
   *
   * @param patience after which the side is taken for large, for both jobs together
   */
  def measure(rows: RDD[InternalRow], patience: Duration): Unit = synchronized {
    if (found.isEmpty) {
      val start = System.nanoTime()
      val small =
        try {
          JobDescription.within(
            rows.sparkContext,
            "range join without a key: whether a side is small")(isSmall(rows, patience))
        } catch {
          // The query is to end.
          case e @ JobCancelled() => throw e
          case NonFatal(e)        =>
            logInfo("Range join without a key: a side could not be measured", e)
            false
        }
      found = Some(small)
      logInfo(s"Range join without a key: a side is ${if (small) "small" else "large"}, " +
        s"found in ${NANOSECONDS.toMillis(System.nanoTime() - start)} ms")
    }
  }

  private def isSmall(rows: RDD[InternalRow], patience: Duration): Boolean = {
    val left = patience match {
      case finite: FiniteDuration => val end = finite.fromNow; () => end.timeLeft.max(Duration.Zero)
      case endless                => () => endless
    }
    val (first, others) = rows.partitions.indices.splitAt(rows.sparkContext.defaultParallelism)
    bytes(rows, first, limit, left())
      .flatMap(some => bytes(rows, others, limit - some, left()))
      .isDefined
  }

  /** The bytes of some partitions; None if they are more than `most`, or it takes too long to tell. */
  private def bytes(
      rows: RDD[InternalRow],
      partitions: Seq[Int],
      most: Long,
      patience: Duration): Option[Long] = {
    var sum = 0L
    val job = rows.sparkContext.submitJob(
      rows,
      (rows: Iterator[InternalRow]) => SideMeasure.bytes(rows, most),
      partitions,
      (_: Int, bytes: Long) => sum += bytes,
      ())
    try {
      ThreadUtils.awaitReady(job, patience)
      job.value.get.get
      Some(sum).filter(_ <= most)
    } catch {
      case _: TimeoutException => None
    } finally if (!job.isCompleted) job.cancel()
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

  /** Half of the time after which Spark gives up a broadcast, which is what waits for a measure. */
  def patience(broadcastTimeout: Long): Duration =
    if (broadcastTimeout <= 0) Duration.Inf else FiniteDuration(broadcastTimeout, "s") / 2
}
