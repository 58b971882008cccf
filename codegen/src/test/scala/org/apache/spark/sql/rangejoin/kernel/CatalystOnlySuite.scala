// SPDX-License-Identifier: Apache-2.0

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
