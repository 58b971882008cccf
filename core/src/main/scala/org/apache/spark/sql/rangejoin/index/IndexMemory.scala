// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

/** Where the memory of an index comes from. The index asks before it allocates. */
trait IndexMemory {

  /** Takes note of bytes that will be allocated; false where they may not be. */
  def acquire(bytes: Long): Boolean

  /** Takes note of bytes that are no longer in use. */
  def release(bytes: Long): Unit

  /** Bytes that another consumer of the task needs to begin with, to take over what is held. */
  def toBeginWith: Long
}

object IndexMemory {

  /** For an index that is made on the driver: its exchange has limits of its own. */
  object Unlimited extends IndexMemory {
    override def acquire(bytes: Long): Boolean = true
    override def release(bytes: Long): Unit = ()
    override def toBeginWith: Long = 0L
  }
}
