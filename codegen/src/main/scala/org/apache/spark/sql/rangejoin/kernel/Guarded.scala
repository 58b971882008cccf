// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import scala.util.control.NonFatal

import org.apache.spark.TaskKilledException
import org.apache.spark.sql.rangejoin.shims.EvaluatedInPlace

/**
 * An expression that has a value even if evaluating its children raises an error: ranges are read ahead of the
 * condition, of rows that the condition may never see.
 *
 * Nothing below may be evaluated ahead of it (as a common subexpression, for example), since that
 * would raise outside of the guard.
 */
trait Guarded extends EvaluatedInPlace

object Guarded {

  /**
   * Swallows errors that the value of a row can cause, and raises others again: a killed task, an interrupt, an error
   * of the JVM.
   */
  def rethrowUnlessOfData(error: Throwable): Unit = error match {
    case e: TaskKilledException => throw e
    case NonFatal(_)            => ()
    case e                      => throw e
  }

  /** A call of [[rethrowUnlessOfData]] in Java. */
  def rethrowUnlessOfDataCode(error: String): String =
    s"${getClass.getName}.MODULE$$.rethrowUnlessOfData($error);"
}
