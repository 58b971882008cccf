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

import scala.concurrent.duration.Duration
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.rangejoin.conf.{JobCancelled, JobDescription}
import org.apache.spark.util.ThreadUtils

/**
 * A question about a join without keys that is answered by reading some of its rows. It is asked once,
 * by whoever asks first.
 *
 * Lives on the driver. Only the choice of a plan may depend on the answer, since the rows may differ when they
 * are read again.
 *
 * @param question what the job is called in the UI
 */
abstract class Probe(question: String) extends Logging {

  @volatile private var found: Option[Boolean] = None

  /** The answer; None until it is known. */
  def answer: Option[Boolean] = found

  /**
   * Asks, unless that has been done. Whatever fails here fails again in the query itself, whose error it
   * then is: the answer is no.
   *
   * @param patience after which the answer is no
   * @param columns of the rows
   */
  def ask(rows: RDD[InternalRow], patience: Duration, columns: Seq[Attribute] = Nil): Unit =
    synchronized {
      if (found.isEmpty) {
        val start = System.nanoTime()
        val answer =
          try {
            JobDescription.within(rows.sparkContext, s"range join without a key: $question")(
              answered(rows, columns, patience))
          } catch {
            // The query is to end.
            case e @ JobCancelled() => throw e
            case NonFatal(e)        =>
              logInfo(s"Range join without a key: not found out $question", e)
              false
          }
        found = Some(answer)
        logInfo(s"Range join without a key: $question: ${if (answer) "yes" else "no"}, " +
          s"found in ${NANOSECONDS.toMillis(System.nanoTime() - start)} ms")
      }
    }

  protected def answered(
      rows: RDD[InternalRow],
      columns: Seq[Attribute],
      patience: Duration): Boolean

  /**
   * What a function finds in each of some partitions, in any order; None if that takes too long. The function
   * goes to the tasks, and may not refer to this object.
   */
  protected def ofEach[T](rows: RDD[InternalRow], partitions: Seq[Int], patience: Duration)(
      function: Iterator[InternalRow] => T): Option[Seq[T]] = {
    val found = Seq.newBuilder[T]
    val job = rows.sparkContext.submitJob(
      rows,
      function,
      partitions,
      (_: Int, part: T) => found += part,
      ())
    try {
      ThreadUtils.awaitReady(job, patience)
      job.value.get.get
      Some(found.result())
    } catch {
      case _: TimeoutException => None
    } finally if (!job.isCompleted) job.cancel()
  }
}
