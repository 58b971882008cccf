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

import org.apache.spark.sql.SQLQueryTestSuite

/** Golden files are run once for each set of settings that they name. */
trait GoldenFileDimensions extends SQLQueryTestSuite {

  /** Whether queries run with these settings. */
  protected def runsWith(settings: Seq[(String, String)]): Boolean

  override protected def runQueries(
      queries: Seq[String],
      testCase: TestCase,
      sparkConfigSet: Seq[(String, String)]
  ): Unit = if (runsWith(sparkConfigSet)) super.runQueries(queries, testCase, sparkConfigSet)
}
