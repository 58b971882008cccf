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
