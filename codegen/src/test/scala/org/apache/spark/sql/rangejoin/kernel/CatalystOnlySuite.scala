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

package org.apache.spark.sql.rangejoin.kernel

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow

import org.scalatest.funsuite.AnyFunSuite

/** The promise of this module: its tests, all of which run here, have catalyst and nothing above. */
class CatalystOnlySuite extends AnyFunSuite {
  private def found(name: String): Boolean = Try(Class.forName(name)).isSuccess

  // A line that is not on Maven is there as a whole: the jars of the package `pyspark`.
  private def isWhole: Boolean = classOf[InternalRow].getProtectionDomain.getCodeSource.getLocation
    .getPath.contains("/pyspark/jars/")

  test("no class of Spark's execution and none of the operators is on the class path") {
    assert(found("org.apache.spark.sql.catalyst.InternalRow"))
    assert(found("org.apache.spark.sql.execution.SparkPlan") == isWhole)
    assert(found("org.apache.spark.sql.classic.SparkSession") == isWhole)
    assert(!found("org.apache.spark.sql.rangejoin.RangeJoinExtensions"))
  }
}
