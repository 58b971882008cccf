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

import scala.concurrent.duration.Duration

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow

/**
 * Whether stock Spark's join soon gives as many rows as a limit asks for: it compares rows as they are
 * read, and is done with the first matches, while sides are shuffled and sorted as a whole. Its first
 * task alone is run.
 *
 * @param most rows that the limit asks for
 */
final class FirstRows(most: Int) extends Probe("whether the rows of a limit are found at once") {

  override def toString: String = s"for $most rows"

  override protected def answered(rows: RDD[InternalRow], patience: Duration): Boolean = {
    // A copy, which goes to the task without this object.
    val wanted = most
    val first = rows.partitions.indices.take(1)
    sum(rows, first, patience)(_.take(wanted).size.toLong).exists(_ >= wanted)
  }
}
