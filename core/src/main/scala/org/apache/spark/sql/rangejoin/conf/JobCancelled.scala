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

package org.apache.spark.sql.rangejoin.conf

import org.apache.spark.SparkException

/** The error of a job that was cancelled, and the query with it. */
private[rangejoin] object JobCancelled {

  /** Spark 3.5 has no class of this error. */
  private val Message = """Job \d+ cancelled""".r

  def unapply(e: SparkException): Boolean =
    Message.findFirstIn(String.valueOf(e.getMessage)).isDefined
}
