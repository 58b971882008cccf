// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

private object LocalSession {

  /** A session with one thread for tasks, and without a UI. */
  def create(settings: (String, String)*): SparkSession = {
    val builder = SparkSession
      .builder()
      .master("local[1]")
      .config("spark.ui.enabled", "false")
      .config("spark.log.level", "ERROR")
    settings.foreach { case (key, value) => builder.config(key, value) }
    builder.getOrCreate()
  }
}
