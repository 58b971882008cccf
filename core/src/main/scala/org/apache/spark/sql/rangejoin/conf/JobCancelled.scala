// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.conf

import org.apache.spark.SparkException

/** The error of a job that was cancelled, and the query with it. */
private[rangejoin] object JobCancelled {

  /** Spark 3.5 has no class of this error. */
  private val Message = """Job \d+ cancelled""".r

  def unapply(e: SparkException): Boolean =
    Message.findFirstIn(String.valueOf(e.getMessage)).isDefined
}
