// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.types.{DataType, TimeType}

/** The type TIME, of any precision. */
object TimeOfDay {
  def unapply(dataType: DataType): Boolean = dataType.isInstanceOf[TimeType]
}
