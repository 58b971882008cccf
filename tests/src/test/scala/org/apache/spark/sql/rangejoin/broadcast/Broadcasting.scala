// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.{PlanForm, RangeJoinTest}

/** Runs the tests of a suite where Spark broadcasts a side. */
trait Broadcasting extends RangeJoinTest {

  protected val Threshold: String = SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key

  protected def settings: Settings = PlanForm.Broadcast.settings

  override protected def forms: Seq[PlanForm] = Seq(PlanForm.Broadcast.copy(settings = settings))
}
