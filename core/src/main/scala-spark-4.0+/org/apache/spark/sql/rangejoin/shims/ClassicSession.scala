// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql
import org.apache.spark.sql.classic

/** The session that plans and runs queries itself, and not that of a client. */
object ClassicSession {
  type SparkSession = classic.SparkSession
  val SparkSession: classic.SparkSession.type = classic.SparkSession
  type Dataset[T] = classic.Dataset[T]
  val Dataset: classic.Dataset.type = classic.Dataset

  def of(session: sql.SparkSession): SparkSession = session match {
    case it: classic.SparkSession => it
    case other => throw new IllegalStateException(s"Not a classic session: ${other.getClass}")
  }
}
