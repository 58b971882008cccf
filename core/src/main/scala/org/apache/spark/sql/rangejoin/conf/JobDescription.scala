// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.conf

import org.apache.spark.{SparkContext, SparkException}

/** The description, in Spark's UI, of the jobs that a range join starts by itself. */
private[rangejoin] object JobDescription {

  /** Runs `body`; the jobs it starts get this description, appended to the user's own. */
  def within[T](sc: SparkContext, description: String)(body: => T): T = {
    val users = Option(sc.getLocalProperty(SparkContext.SPARK_JOB_DESCRIPTION))
    sc.setJobDescription((users.toSeq :+ description).mkString(": "))
    try body
    finally sc.setJobDescription(users.orNull)
  }
}

/** The error of a job that was cancelled, and the query with it. */
private[rangejoin] object JobCancelled {

  /** Spark 3.5 has no class of this error. */
  private val Message = """Job \d+ cancelled""".r

  def unapply(e: SparkException): Boolean =
    Message.findFirstIn(String.valueOf(e.getMessage)).isDefined
}
