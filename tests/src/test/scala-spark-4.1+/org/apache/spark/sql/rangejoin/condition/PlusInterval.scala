// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions.{Expression, TimestampAddInterval}

/** `timestamp + interval`, by the name that it has in this line. */
object PlusInterval {
  def apply(timestamp: Expression, interval: Expression, zone: Option[String]): Expression =
    TimestampAddInterval(timestamp, interval, zone)
}
