// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.{Future, Promise}

import org.apache.spark.MapOutputStatistics
import org.apache.spark.util.ThreadUtils

/**
 * The progress of writing one side of a join ([[WriteOnceExec]]), which the other side waits for in an
 * adaptive plan. The same object is kept while the plan is made again.
 */
final class Writing {

  private val ended = Promise[MapOutputStatistics]()

  /** What a stage has for a result, once the side has been written. */
  private[partitioning] val result = new AtomicReference[Option[Any]](None)

  /** Whether a stage waits, which will have the plan made again. */
  @volatile private[partitioning] var isAwaited: Boolean = false

  private[partitioning] def end(): Unit = Writing.later { () =>
    result.set(Some(()))
    ended.trySuccess(null)
  }

  private[partitioning] def future: Future[MapOutputStatistics] = {
    isAwaited = true
    ended.future
  }
}

private[partitioning] object Writing {

  /**
   * When a side has been written, its own stage has adaptive execution replan, without the wait.
   * If the wait ended first, the other side could start before the size of this one is known. So
   * it ends a second later, which matters only if the plan is not replanned.
   */
  private val SecondsLater = 1L

  private lazy val timer =
    ThreadUtils.newDaemonSingleThreadScheduledExecutor("range-join-writing")

  private def later(end: Runnable): Unit = timer.schedule(end, SecondsLater, SECONDS)
}
