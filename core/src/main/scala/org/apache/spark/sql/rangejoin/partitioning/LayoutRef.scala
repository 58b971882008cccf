// SPDX-License-Identifier: Apache-2.0

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
