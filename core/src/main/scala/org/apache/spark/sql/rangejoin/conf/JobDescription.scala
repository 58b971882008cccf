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

import org.apache.spark.SparkContext

/** The description, in Spark's UI, of the jobs that a range join starts by itself. */
private[rangejoin] object JobDescription {

  /** Runs `body`; the jobs it starts get this description, appended to the user's own. */
  def within[T](sc: SparkContext, description: String)(body: => T): T = {
    val users = Option(sc.getLocalProperty(SparkContext.SPARK_JOB_DESCRIPTION))
    sc.setJobDescription((users.toSeq :+ description).mkString(": "))
    try body
    finally sc.setJobDescription(users.orNull)
  }
}
