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

import java.io.ObjectOutputStream

/**
 * Holds the layout for tasks, since generated code exists before it. A stage sends the layout that is there
 * when the stage is submitted, also when it is submitted again.
 */
final class LayoutRef(@transient current: () => BucketLayout) extends Serializable {
  private var sent: BucketLayout = _

  /** What counts the lengths of the owner's rows; null where they are not counted. */
  var lengths: LengthCounter = _

  /** The layout, in a task. */
  def layout: BucketLayout = sent

  private def writeObject(out: ObjectOutputStream): Unit = synchronized {
    sent = current()
    out.defaultWriteObject()
  }
}
