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
package org.apache.spark.sql.rangejoin.spread

import org.apache.spark.TaskContext

/** A function of a user that fails as long as it is told to. */
object FailingFunction {

  /** How long a row takes before it fails; below 0, none does. */
  @volatile var seconds: Int = -1

  val function: Long => Long = (p: Long) => {
    for (_ <- 1 to seconds * 10) {
      if (TaskContext.get().isInterrupted()) throw new InterruptedException
      Thread.sleep(100)
    }
    if (seconds >= 0) sys.error("not yet")
    p
  }
}
