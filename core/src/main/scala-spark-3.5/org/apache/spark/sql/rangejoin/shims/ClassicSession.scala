// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql

/** The session that plans and runs queries itself, which is the only one that there is. */
object ClassicSession {
  type SparkSession = sql.SparkSession
  val SparkSession: sql.SparkSession.type = sql.SparkSession
  type Dataset[T] = sql.Dataset[T]
  val Dataset: sql.Dataset.type = sql.Dataset

  def of(session: sql.SparkSession): SparkSession = session
}
