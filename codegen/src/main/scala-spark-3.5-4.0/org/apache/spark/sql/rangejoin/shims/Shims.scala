// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.types.DataType

/** The type TIME, which these lines of Spark do not have: matches nothing. */
object TimeOfDay {
  def unapply(dataType: DataType): Boolean = false
}
