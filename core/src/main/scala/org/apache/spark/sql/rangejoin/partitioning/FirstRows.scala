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

import scala.collection.mutable.ArrayBuffer
import scala.concurrent.duration._

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}

/**
 * Whether stock Spark's join soon gives as many rows as a limit asks for: it compares rows as they are
 * read, and is done with the first matches, while sides are shuffled and sorted as a whole. Its first
 * task is run, and then several at a time, as Spark does for a limit, until there are enough rows or it takes
 * too long. The rows found are those of the limit, unless they are too many bytes to keep.
 *
 * @param most rows that the limit asks for
 * @param timeout milliseconds that it may take where no rows are found
 * @param mayRunAgain whether the join may be run once more for rows that were not kept; if not, the answer is no
 */
final class FirstRows(most: Int, val timeout: Long, mayRunAgain: Boolean)
    extends Probe("whether the rows of a limit are found at once") {
  import FirstRows._

  /** Columns and rows that have been found. */
  @volatile private var kept: Option[(Seq[Attribute], Array[UnsafeRow])] = None

  override def toString: String = s"for $most rows"

  /** The rows that have been found, if they have been kept and have these columns. */
  def rowsOf(output: Seq[Attribute]): Option[Array[UnsafeRow]] =
    kept.collect { case (columns, rows) if columns.map(_.exprId) == output.map(_.exprId) => rows }

  override protected def answered(
      rows: RDD[InternalRow],
      columns: Seq[Attribute],
      patience: Duration): Boolean = {
    val start = System.nanoTime()
    def millis = NANOSECONDS.toMillis(System.nanoTime() - start)
    val partitions = rows.partitions.indices
    var (found, tried) = (Found(0, Some(Array.empty)), 0)
    var isPromising = true
    while (found.count < most && tried < partitions.size && isPromising) {
      val next = partitions.slice(tried, tried + nextTasks(tried, found.count))
      // Copies, which go to the tasks without this object.
      val (wanted, bytes) = (most - found.count, MostBytes / next.size)
      val more =
        ofEach(rows, next, patience - millis.milliseconds)(read(_, wanted, bytes))
      found = more.toSeq.flatten.foldLeft(found)(_.and(_))
      tried += next.size
      isPromising = more.isDefined && isOfUse(found) && isPromisingAfter(millis, found.count)
    }
    val areAll = found.count >= most
    if (areAll) kept = found.rows.map(rows => (columns, rows.take(most)))
    areAll && isOfUse(found)
  }

  private def isOfUse(found: Found): Boolean = mayRunAgain || found.rows.isDefined

  /** How many tasks are run after some that have found some rows. */
  private def nextTasks(tried: Int, found: Int): Int = {
    val atMost = math.max(1L, tried * 4L)
    val likely = if (found == 0) atMost else (1.5 * tried * (most - found) / found).toLong + 1
    math.min(atMost, likely).toInt
  }

  /** Where rows are found, but too slowly for the timeout, all of them may take a few times as long. */
  private def isPromisingAfter(millis: Long, found: Int): Boolean =
    millis <= timeout || millis.toDouble * most <= 3.0 * timeout * found
}

object FirstRows {

  /** The most bytes of rows that are kept, on the driver as long as their query. */
  private[partitioning] val MostBytes = 1 << 20

  /** How many rows there are, and the rows, as far as they are to be kept. */
  private case class Found(count: Int, rows: Option[Array[UnsafeRow]]) {
    def and(other: Found): Found = {
      val both = for (some <- rows; others <- other.rows) yield some ++ others
      Found(count + other.count, both.filter(_.map(_.getSizeInBytes.toLong).sum <= MostBytes))
    }
  }

  /** Up to as many rows as are wanted; they are kept up to some bytes. */
  private def read(rows: Iterator[InternalRow], wanted: Int, bytes: Int): Found = {
    val found = new ArrayBuffer[UnsafeRow]
    var (count, left) = (0, bytes)
    while (count < wanted && rows.hasNext) {
      rows.next() match {
        case row: UnsafeRow if left >= row.getSizeInBytes =>
          left -= row.getSizeInBytes
          found += row.copy()
        case _ => left = -1
      }
      count += 1
    }
    Found(count, if (found.size == count) Some(found.toArray) else None)
  }
}
