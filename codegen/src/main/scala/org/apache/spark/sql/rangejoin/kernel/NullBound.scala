// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

/**
 * What a NULL bound means, in a test in which NULL is the open end of a side, as in `until IS NULL OR t < until`.
 */
sealed trait NullBound

object NullBound {

  /** It is the open end of its side: every row of the other side passes. */
  case object OpenEnd extends NullBound

  /** Only open ends of the other side pass; no value does. */
  case object OpenEndOnly extends NullBound

  /** It passes, as all values do, and comes behind them. */
  case object BehindValues extends NullBound

  /** Its position is unknown; all values are before the open end of the other side. */
  case object OutOfOrder extends NullBound

  /** The original condition decides about every pair. */
  case object Unknown extends NullBound

  /** Such a row matches nothing, since another part of the condition does not hold for it. */
  case object NoMatch extends NullBound
}
