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

package org.apache.spark.sql.rangejoin.codegen

import org.apache.spark.sql.types._

/**
 * Order-preserving encoding of a value as a long: `encode(x) <= encode(y)` exactly where Spark's
 * own ordering says `x <= y`, and equal where it says equal. A window of bounds is then an array
 * of longs, and a scan touches no row.
 */
object OrderedLong {

  /** Whether values of the type fit the encoding, with nothing lost. */
  def supports(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType |
        TimestampNTZType | _: DayTimeIntervalType =>
      true
    case _ => false
  }

  /** Encodes a value that is not NULL, in Spark's internal representation. */
  def encode(value: Any, dataType: DataType): Long = dataType match {
    case ByteType               => value.asInstanceOf[Byte].toLong
    case ShortType              => value.asInstanceOf[Short].toLong
    case IntegerType | DateType => value.asInstanceOf[Int].toLong
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType =>
      value.asInstanceOf[Long]
    case other => throw unsupported(other)
  }

  /** Java source of an expression that encodes the given one. */
  def encodeCode(value: String, dataType: DataType): String = dataType match {
    case dt if supports(dt) => s"(long) $value"
    case other              => throw unsupported(other)
  }

  private def unsupported(dataType: DataType) =
    new IllegalArgumentException(s"no order-preserving long for type ${dataType.sql}")
}
