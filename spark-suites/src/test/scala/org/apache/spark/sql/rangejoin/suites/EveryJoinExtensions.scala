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

package org.apache.spark.sql.rangejoin.suites

import org.apache.spark.sql.rangejoin.RangeJoinExtensions
import org.apache.spark.sql.rangejoin.line.ClassicSession.SparkSession
import org.apache.spark.sql.rangejoin.plan.MarkRangeJoins

/** The extension with every sort-merge join as a range join, whether it has a range or not. */
class EveryJoinExtensions extends RangeJoinExtensions {
  override protected def strategy(session: SparkSession): MarkRangeJoins =
    MarkRangeJoins(session, everyJoin = true)
}
