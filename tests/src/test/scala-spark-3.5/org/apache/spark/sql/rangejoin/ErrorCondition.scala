// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.SparkThrowable

/** What kind of error it is, by the name that the method has in this line. */
object ErrorCondition {
  def of(error: SparkThrowable): String = error.getErrorClass
}
