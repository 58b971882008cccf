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

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql
import org.apache.spark.sql.classic

/** The session that plans and runs queries itself, and not that of a client. */
object ClassicSession {
  type SparkSession = classic.SparkSession
  val SparkSession: classic.SparkSession.type = classic.SparkSession
  type Dataset[T] = classic.Dataset[T]
  val Dataset: classic.Dataset.type = classic.Dataset

  def of(session: sql.SparkSession): SparkSession = session match {
    case it: classic.SparkSession => it
    case other => throw new IllegalStateException(s"Not a classic session: ${other.getClass}")
  }
}
