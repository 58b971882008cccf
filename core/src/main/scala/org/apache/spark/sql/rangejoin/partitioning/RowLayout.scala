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
package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.InternalRow

/** Which buckets there are, of one key or of several; their ids say where rows go. */
trait RowLayout extends Serializable {

  /** The buckets of a key, by its hash. */
  def bucketsOf(key: Int): BucketLayout

  /**
   * Where a row goes that is kept and matches nothing: to the same place when it is read again.
   *
   * @param partition of the map task that reads it
   */
  def anyId(row: InternalRow, partition: Int): Int
}
