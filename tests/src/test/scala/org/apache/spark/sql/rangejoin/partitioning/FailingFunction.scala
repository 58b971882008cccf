// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit.SECONDS

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

  /** Open once what is to go on meanwhile has begun. */
  @volatile var begun: CountDownLatch = new CountDownLatch(0)

  /** Open once what had begun has ended. */
  @volatile var ended: CountDownLatch = new CountDownLatch(0)

  /** What calls wait for, each of which is one of those that have to be made. */
  @volatile var meeting: CountDownLatch = new CountDownLatch(0)

  /** Fails unless all calls are made at a time. */
  val meets: Long => Long = (p: Long) => {
    meeting.countDown()
    if (!meeting.await(60, SECONDS)) sys.error("alone")
    p
  }
}
