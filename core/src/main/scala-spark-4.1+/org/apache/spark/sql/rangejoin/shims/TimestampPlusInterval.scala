// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.{Expression, TimestampAddInterval}

/** `timestamp + interval`: matches the timestamp and the interval. */
object TimestampPlusInterval {
  def unapply(e: Expression): Option[(Expression, Expression)] = e match {
    case TimestampAddInterval(timestamp, interval, _) => Some((timestamp, interval))
    case _                                            => None
  }
}
