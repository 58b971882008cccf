/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

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

  /** It passes, as all values do, and is behind them. */
  case object BehindValues extends NullBound

  /** Its position is unknown; all values are before the open end of the other side. */
  case object OutOfOrder extends NullBound

  /** The original condition decides about every pair. */
  case object Unknown extends NullBound

  /** Such a row matches nothing, since another part of the condition does not hold for it. */
  case object NoMatch extends NullBound
}
