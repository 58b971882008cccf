// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import java.util.concurrent.TimeUnit
import java.util.concurrent.TimeUnit.{MILLISECONDS, SECONDS}
import java.util.concurrent.locks.ReentrantLock

/**
 * Which thread may touch a window. It is used by one thread at a time, but not always by the same: a thread that feeds
 * a script or another program with rows of the join drains it, after the task's own thread has asked whether there are
 * any. And any of them may ask for the task's memory.
 *
 * A use is what is between `enter` and `leave`. As long as the task's own thread, if it has made the
 * window, is the only one that has used it (`sole`), neither takes a lock. From the first use by another
 * thread on both do, for good. A window that another thread has made is used under the lock from the
 * beginning, for the task's thread may end the task, and with it the window, amid a use.
 *
 * A thread that asks for memory (`serve`)
 *   - is served at once if it is in a use itself, or is the sole user;
 *   - is served, too, if the window is between two uses of other threads, so that it gets the lock;
 *   - otherwise waits a little for the use to end, and then leaves a request behind, as it does at once
 *     where another thread is the sole user. The request is met when the use ends (`takeRequest`).
 *
 * Invariant: the window is touched by the sole user, or by the thread that holds the lock; a thread that asks
 * for memory holds the lock in any case, so that no other becomes a user meanwhile.
 *
 * No thread that may hold the monitor of the task's memory waits for the lock without end, since a use may
 * need that monitor: threads that ask for memory hold it, threads that begin a use do not.
 *
 * @param maker the task's own thread, if it makes the window; else null
 */
private[window] final class WindowOwner(maker: Thread) {
  import WindowOwner._

  // Fair: a thread that asks for memory has its turn before the next use.
  private[this] val lock = new ReentrantLock(true)
  // Null as soon as there is another. Not volatile: it changes under the lock; and one use comes after the other, so
  // that a thread that is not the sole user any more has seen it.
  private[this] var sole = maker
  @volatile private[this] var requested = false

  /** Whether this thread is the only one that has used the window. */
  def isSole: Boolean = sole eq Thread.currentThread

  /** Begins a use; uses may be nested. */
  def enter(): Unit = if (sole ne Thread.currentThread) {
    lock.lock()
    sole = null
  }

  /**
   * Begins a use that is the last, and no part of another, unless that of another thread does not end
   * in good time. It takes the lock in any case, so that no other thread begins one beside it.
   */
  def tryEnter(): Boolean = {
    val entered = acquire(LongestUse, SECONDS)
    if (entered) sole = null
    entered
  }

  def leave(): Unit = if (sole == null) lock.unlock()

  /** Whether memory was asked for in vain since the last call. */
  def takeRequest(): Boolean = requested && {
    requested = false
    true
  }

  /** Runs `giveBack`, if the current thread may; else leaves a request behind and returns zero. */
  def serve(giveBack: () => Long): Long =
    if (acquire(Patience, MILLISECONDS)) serveLocked(giveBack)
    else {
      requested = true
      // The use may have ended before it could see the request.
      if (lock.tryLock()) serveLocked(giveBack) else 0L
    }

  private def serveLocked(giveBack: () => Long): Long =
    try {
      if (sole == null || (sole eq Thread.currentThread)) {
        requested = false
        giveBack()
      } else {
        requested = true
        0L
      }
    } finally lock.unlock()

  /** A thread that is interrupted tries without waiting, and stays interrupted. */
  private def acquire(time: Long, unit: TimeUnit): Boolean =
    lock.tryLock() || {
      try lock.tryLock(time, unit)
      catch {
        case _: InterruptedException =>
          Thread.currentThread.interrupt()
          false
      }
    }
}

private[window] object WindowOwner {

  /**
   * How long a thread that asks for memory waits for a use to end, in milliseconds. Most uses take microseconds; one
   * that asks for memory itself does not end before.
   */
  private val Patience = 10L

  /** How long the end of a task waits for a use to end, in seconds. */
  private val LongestUse = 10L
}
