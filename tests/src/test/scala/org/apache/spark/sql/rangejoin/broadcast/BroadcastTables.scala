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

  protected def expected(df: => DataFrame): Seq[String] = withConf(Flag -> "false")(rows(df))
}
