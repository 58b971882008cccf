// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.rangejoin.{RangeJoinTest, TestSession}

import org.scalatest.tagobjects.Slow

/** A share of what `make fuzz` runs. */
class DifferentialSuite extends RangeJoinTest {
  private val Cases = Integer.getInteger("rangejoin.differential.cases", 150).intValue
  private val FirstSeed = java.lang.Long.getLong("rangejoin.differential.seed", 20261121L).longValue
  private val Few = Cases / 10

  test("random joins give the rows of stock Spark, and those of the definition") {
    check(Few, FirstSeed)
  }

  test("so do more of them", Slow) {
    check(Cases - Few, FirstSeed + Few)
  }

  private def check(cases: Int, seed: Long): Unit = {
    val report = new Fuzz(TestSession.spark, println(_)).run(cases, seed)
    info(s"from seed $seed:\n${report.table}")
    assert(report.faults.map(_.join.seed) == Nil)
    assert(report.shortcomings == Nil)
    assert(report.rowsCompared > cases * 10L)
  }
}
