// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.sql.execution.{InputAdapter, SparkPlan}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.{Column, DataFrame}

/** Two tables with columns `id`, `k` and `t`, and a band of `t` within `k`. */
trait BandOfTables extends RangeJoinTest {

  /** The number of keys, and of different `t`. */
  protected def keys: Int = 7
  protected def times: Int = 100

  /** How far a match is off at most. */
  protected def reach: Int = 2

  protected def table(rows: Int, seed: Int): DataFrame = spark.range(rows).select(
    col("id"),
    pmod(hash(col("id"), lit(seed)), lit(keys)).as("k"),
    pmod(hash(col("id"), lit(seed + 1)), lit(times)).as("t")
  )

  protected def l: DataFrame = table(200, 1).as("l")
  protected def r: DataFrame = table(150, 2).as("r")

  protected def within: String = s"r.t between l.t - $reach and l.t + $reach"

  /** Made anew for each query: 3.5 reads the mode of arithmetic as it is made. */
  protected def band: Column = expr(s"l.k = r.k and $within")

  /** The nodes whose generated code is one with that of a node, itself the first. */
  protected def fused(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case _: InputAdapter => Nil
    case other           => other +: other.children.flatMap(fused)
  }
}
