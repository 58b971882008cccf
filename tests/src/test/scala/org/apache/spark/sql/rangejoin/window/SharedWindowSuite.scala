// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import scala.collection.mutable
import scala.util.{Random, Try}

import org.apache.spark.memory.TaskMemoryManager
import org.apache.spark.sql.rangejoin.SlowTests

/** A window that one thread uses and another one asks for its memory. */
class SharedWindowSuite extends SlowTests with TaskMemory {

  private def withShared[T](bytes: Long, limits: WindowLimits = WindowLimits.Unlimited)(
      block: (RangeWindow, WindowMemory, TaskMemoryManager) => T): T = withTask(bytes) { task =>
    withSpillFiles(largestFile = 100000) { (files, _) =>
      val memory = new WindowMemory(task)
      val window =
        new RangeWindow(memory, new PagedRowStore(memory, task, 128L << 10), files, limits)
      try block(window, memory, task)
      finally window.close()
    }
  }

  /** Runs a block in a thread of its own while another runs in this one; either's error is raised. */
  private def beside(other: => Unit)(block: => Unit): Unit = {
    @volatile var outcome = Try(())
    val thread = new Thread(() => outcome = Try(other))
    thread.start()
    try block
    finally {
      thread.join(60000)
      assert(!thread.isAlive, "the threads wait for each other")
    }
    outcome.get
  }

  private def inUse[T](window: RangeWindow)(use: => T): T = {
    window.use()
    use
  }

  /** The ids of all rows, each read in a use of its own and looked at after it. */
  private def ids(window: RangeWindow): Seq[Long] = {
    val found = mutable.ArrayBuffer.empty[Long]
    val into = emptyRow
    var index = inUse(window)(window.nextRow(window.head))
    while (inUse(window) {
        val isRow = index < window.tail
        if (isRow) {
          window.read(index, into)
          assert(window.sortBound(index) == idOf(into) * 10)
        }
        isRow
      }) {
      found += idOf(into)
      index = inUse(window)(window.nextRow(index + 1))
    }
    found.toSeq
  }

  test("who used the window last is served, amid a use and after it") {
    withShared(4L << 20) { (window, memory, task) =>
      beside(inUse(window)(append(window, 1L to 500L: _*)))(())
      val rival = new Rival(task)
      val into = emptyRow
      inUse(window) {
        append(window, 501L to 20000L: _*)
        window.read(window.head + 12345, into)
        assert(rival.take(3L << 20) == (3L << 20))
        rival.giveAll()
      }
      assert(memory.getUsed <= (128L << 10), "one page at most")
      assert(idOf(into) == 12346L, "the row that is being looked at")
      assert(ids(window) == (1L to 20000L))
    }
  }

  test("another thread than the one that used the window last is not served") {
    withShared(4L << 20) { (window, memory, task) =>
      inUse(window)(append(window, 1L to 500L: _*))
      beside(inUse(window)(append(window, 501L to 20000L: _*)))(())
      assert(memory.spill(1L << 20, new Rival(task)) == 0L && window.spilledRows == 0)
      assert(ids(window) == (1L to 20000L))
      assert(memory.spill(1L << 20, new Rival(task)) > 0L && window.spilledRows == 20000)
    }
  }

  for (limits <- Seq(
      WindowLimits.Unlimited,
      WindowLimits(1, Long.MaxValue),
      WindowLimits(7, Long.MaxValue),
      WindowLimits(500, Long.MaxValue),
      WindowLimits(Int.MaxValue, 150L << 10)
    )) {
    test(
      s"one thread drains the window while the other asks for its memory: $limits",
      slowButOneIn(4)(s"$limits"): _*) {
      val requests =
        for ((mostRows, times) <- Seq(60 -> 40, 1500 -> 20); seed <- 1 to times)
          yield drainedBesideRequests(limits, seed, mostRows)
      assert(requests.sum > 3000)
    }
  }

  /**
   * Rows come, leave and are read in one thread; the other takes what there is and gives it back.
   *
   * @return the number of requests
   */
  private def drainedBesideRequests(limits: WindowLimits, seed: Int, mostRows: Int): Int =
    withShared(1L << 20, limits) { (window, _, task) =>
      // As who asks first whether there are rows at all: then the window has all it needs at first.
      inUse(window)(append(window, 0))
      val rival = new Rival(task)
      @volatile var drained = false
      var requests = 0
      beside {
        try drain(window, new Random(seed), mostRows)
        finally drained = true
      } {
        val random = new Random(-seed)
        while (!drained) {
          rival.take(1L + random.nextInt(1 << 20))
          rival.giveAll()
          requests += 1
        }
      }
      inUse(window)(assert(window.isEmpty))
      requests
    }

  private def drain(window: RangeWindow, random: Random, mostRows: Int): Unit = {
    var next = 1L
    var model = Seq(0L)
    for (_ <- 1 to 5) {
      inUse(window)(window.settle())
      val count = random.nextInt(mostRows)
      // Some rows at a time, as they come by.
      for (few <- (next until next + count).grouped(7)) inUse(window)(append(window, few: _*))
      model ++= next until next + count
      next += count
      assert(ids(window) == model)
      val leaves = random.nextInt(10)
      var kept = Vector.empty[Long]
      var index = inUse(window)(window.nextRow(window.head))
      for (id <- model) {
        inUse(window) {
          if (random.nextInt(10) < leaves) window.evict(index) else kept :+= id
        }
        index = inUse(window)(window.nextRow(index + 1))
      }
      model = kept
      if (random.nextInt(10) == 0) {
        inUse(window)(window.clear())
        model = Nil
      }
    }
    inUse(window)(window.clear())
  }
}

/** Likewise, in memory off the heap. */
class OffHeapSharedWindowSuite extends SharedWindowSuite {
  override protected def offHeap: Boolean = true
}
