// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.BandOfTables
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.{Column, DataFrame}

/** Joins of two tables that Spark broadcasts. */
trait BroadcastTables extends Broadcasting with BandOfTables {

  // Small groups as by default.
  override protected def settings: Settings = Seq(Threshold -> "10MB")

  protected lazy val keyless: Column = expr(within)

  protected def adaptive(on: Boolean): (String, String) =
    SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> on.toString

  protected def withAdaptive(test: Boolean => Unit): Unit =
    for (on <- Seq(true, false)) withConf(adaptive(on))(test(on))

  protected def expected(df: => DataFrame): Seq[String] = rowsOfStock(df)
}
