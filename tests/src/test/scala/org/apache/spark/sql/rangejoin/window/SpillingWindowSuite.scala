// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

/** A window of which rows are on disk: the same rows, whatever made it spill and when. */
class SpillingWindowSuite extends AnyFunSuite with TaskMemory {
  private val Few = WindowLimits(7, Long.MaxValue)

  /** The ids of all rows in their order, as a scan comes by them; checks their bounds. */
  private def ids(window: RangeWindow): Seq[Long] = {
    val found = mutable.ArrayBuffer.empty[Long]
    val into = emptyRow
    var index = window.nextRow(window.head)
    while (index < window.tail) {
      window.read(index, into)
      found += idOf(into)
      assert(window.sortBound(index) == found.last * 10)
      assert(window.evictBound(index) == found.last * 10 + 5)
      index = window.nextRow(index + 1)
    }
    assert(found.size == window.size && found.isEmpty == window.isEmpty)
    found.toSeq
  }

  test("rows beyond the limit of rows are on disk, and are read in their order") {
    for (limit <- Seq(1, 2, 7)) withWindow(limits = WindowLimits(limit, Long.MaxValue)) {
      (window, _) =>
        append(window, 1L to 50L: _*)
        assert(window.sizeInMemory == limit)
        assert(window.size == 50 && window.peakRows == 50)
        assert(window.spillSize > 0 && window.spilledRows >= 50 - 2 * limit)
        assert(ids(window) == (1L to 50L))
    }
  }

  test("rows beyond the limit of bytes are on disk") {
    withWindow(limits = WindowLimits(Int.MaxValue, 200L << 10)) { (window, memory) =>
      append(window, 1L to 20000L: _*)
      assert(memory.peakBytes < (1 << 20) && window.spilledRows > 10000)
      assert(ids(window) == (1L to 20000L))
    }
  }

  test("rows for which there is no memory are on disk") {
    for (bytes <- Seq(80L << 10, 300L << 10, 3L << 20)) withWindow(bytes = bytes) { (window, _) =>
      append(window, 1L to 40000L: _*)
      assert(window.peakMemory <= bytes && window.spilledRows > 0)
      assert(ids(window) == (1L to 40000L))
    }
  }

  test("rows are where a scan looks for them when memory is refused after room was made") {
    // 1,024 rows of 64 bytes fill both their page and the array of bounds: the next row needs room in
    // each. The rows move to the front, of the same array or of a larger one, before it is refused.
    for ((gone, spare) <- Seq(724L -> 0L, 100L -> (2048L * 24 + 100)))
      withRival(4L << 20, largestPage = 64L << 10) { (window, memory, rival) =>
        def append(id: Long) = window.append(row(id, payload = 32), id * 10, id * 10 + 5)
        (1L to 1024L).foreach(append)
        (1L to gone).foreach(_ => window.evict(window.head))
        rival.take((4L << 20) - memory.bytesInUse - spare)
        append(1025L)
        assert(window.sizeInMemory == window.size - 1, "the row was not refused")
        window.markMatched(window.head)
        assert(ids(window) == (gone + 1 to 1025L))
        window.settle()
        assert(window.isMatched(window.head) && !window.isMatched(window.head + 1))
        assert(ids(window) == (gone + 1 to 1025L))
      }
  }

  test("rows that come and go behind a few on disk do not have those written again and again") {
    withWindow(limits = WindowLimits(10, Long.MaxValue)) { (window, _) =>
      append(window, 1L to 60L: _*)
      for (id <- 61L to 1000L) {
        append(window, id)
        window.evict(window.tail - 1)
        window.settle()
      }
      assert(ids(window) == (1L to 60L))
      assert(window.spilledRows < 2000)
    }
  }

  test("a window goes on where there is no memory at all") {
    withTask(64L << 10) { task =>
      val rival = new Rival(task)
      rival.take(64L << 10)
      withSpillFiles() { (files, _) =>
        val memory = new WindowMemory(task)
        val store = new PagedRowStore(memory, task, 1L << 20)
        val window = new RangeWindow(memory, store, files, WindowLimits.Unlimited)
        append(window, 1L to 5000L: _*)
        assert(memory.peakBytes == 0L && window.sizeInMemory == 0)
        assert(ids(window) == (1L to 5000L))
        window.close()
      }
      rival.giveAll()
    }
  }

  test("memory is given back to a consumer that asks, but for the page of the row that is read") {
    withRival(4L << 20, largestPage = 256L << 10) { (window, memory, rival) =>
      append(window, 1L to 20000L: _*)
      assert(window.spilledRows == 0)
      val into = emptyRow
      val index = window.nextRow(window.head + 12345)
      window.read(index, into)
      window.markMatched(index)
      window.evict(window.head + 17)
      window.read(index, into)

      assert(rival.take(3L << 20) == (3L << 20))
      assert(memory.getUsed <= (256L << 10), "one page at most")
      assert(window.sizeInMemory == 0)
      assert(idOf(into) == 12346L, "the row that is being looked at")
      // Indices, marks and holes are as they were.
      assert(window.isMatched(index) && !window.isMatched(index + 1))
      window.read(index + 1, into)
      assert(idOf(into) == 12347L)
      assert(ids(window) == (1L to 20000L).filter(_ != 18))
      rival.giveAll()

      // A window that is read again and again comes back into memory.
      for (_ <- 1 to 20) {
        window.settle()
        assert(ids(window).size == 19999)
      }
      assert(window.sizeInMemory > 0, window.sizeInMemory)
      val reads = window.spillReads
      for (_ <- 1 to 3) {
        window.settle()
        ids(window)
      }
      if (window.sizeInMemory == window.size) assert(window.spillReads == reads)
    }
  }

  test("a window without rows gives back all it has") {
    withRival(4L << 20, largestPage = 256L << 10) { (window, memory, rival) =>
      append(window, 1L to 10000L: _*)
      window.clear()
      assert(memory.getUsed > 0L)
      assert(rival.take(4L << 20) == (4L << 20))
      assert(memory.getUsed == 0L && window.spilledRows == 0)
      rival.giveAll()
      append(window, 1L to 10L: _*)
      assert(ids(window) == (1L to 10L) && window.sizeInMemory == 10)
    }
  }

  test("a window that slides keeps its rows in few files, and comes back when it is narrow again") {
    withWindow(limits = Few) { (window, _) =>
      append(window, 1L to 30L: _*)
      for (id <- 31L to 3000L) {
        window.settle()
        window.evict(window.nextRow(window.head))
        append(window, id)
        if (id % 500 == 0) assert(ids(window) == (id - 29 to id))
      }
      while (window.size > 5) {
        window.settle()
        window.evict(window.nextRow(window.head))
      }
      window.settle()
      assert(window.sizeInMemory == 5 && ids(window) == (2996L to 3000L))
      val written = window.spilledRows
      append(window, 3001, 3002)
      assert(window.sizeInMemory == 7 && window.spilledRows == written)
    }
  }

  test("long-lived rows among many that leave do not keep their blocks") {
    withWindow(limits = WindowLimits(100, Long.MaxValue)) { (window, _) =>
      append(window, 0L until 20000L: _*)
      val reads = window.spillReads
      for (index <- window.head until window.tail if window.sortBound(index) % 1000 != 0) {
        window.evict(index)
      }
      assert(window.size == 200)
      window.settle()
      val before = window.spillReads
      assert(before - reads <= 3 * 200, "read once to evict, once to compact")
      assert(ids(window) == (0L until 20000L by 100))
      assert(window.spillReads - before <= 3, "200 rows are in two blocks")
    }
  }

  test("pages of which one row is left are given back") {
    withWindow(largestPage = WindowMemory.SmallestPage, bytes = 64L << 20) { (window, memory) =>
      for (round <- 0L until 20L) {
        append(window, round * 10000 until (round + 1) * 10000: _*)
        var index = window.nextRow(window.head)
        while (index < window.tail) {
          if (window.sortBound(index) % 10000 != 0) window.evict(index)
          index = window.nextRow(index + 1)
        }
        window.settle()
      }
      assert(window.size == 200)
      assert(
        memory.getUsed < (1 << 20),
        "a long-lived row in a page of a thousand does not keep it")
      assert(ids(window) == (0L until 200000L by 1000))
    }
  }

  test("a window that is cleared, or closed, has no files and takes rows again") {
    withSpillFiles() { (files, directory) =>
      withTask() { task =>
        val memory = new WindowMemory(task)
        val window =
          new RangeWindow(memory, new PagedRowStore(memory, task, 1L << 20), files, Few)
        for (_ <- 1 to 100) {
          append(window, 1L to 100L: _*)
          assert(ids(window) == (1L to 100L))
          window.clear()
          assert(window.isEmpty && ids(window).isEmpty)
        }
        assert(directory.list().length == 1, "one file, for all groups")
        append(window, 1L to 100L: _*)
        window.close()
        assert(directory.list().isEmpty && memory.getUsed == 0L)
        window.close()
      }
    }
  }

  test("a row larger than any block") {
    withWindow(limits = Few) { (window, _) =>
      for (id <- 1L to 20L) {
        window.append(row(id, payload = if (id % 5 == 0) 1 << 20 else 10), id * 10, id * 10 + 5)
      }
      assert(ids(window) == (1L to 20L))
    }
  }

  test(
    "rows keep their places when memory is given back amid a run, after a part of a block came back") {
    withRival(1L << 20, largestPage = 64L << 10) { (window, _, rival) =>
      val into = emptyRow
      def check(places: Range): Unit = places.foreach { place =>
        window.read(window.head + place, into)
        assert(idOf(into) == place)
      }
      append(window, 0L until 8000L: _*)
      rival.take(1L << 20)
      rival.giveAll()
      rival.take((1L << 20) - 120000L)
      // Read again and again, so that the window takes as much back as there is memory for.
      for (_ <- 1 to 3 if window.sizeInMemory == 0) {
        check(0 until 8000 by 100)
        window.settle()
      }
      assert(window.sizeInMemory > 0 && window.sizeInMemory < 8000 && window.isDense)
      check(0 until 2000)
      rival.take(1L << 20)
      assert(window.sizeInMemory == 0 && window.isDense)
      check(0 until 8000)
      window.settle()
      assert(window.isDense && ids(window) == (0L until 8000L))
    }
  }
}

/** Likewise, in memory off the heap. */
class OffHeapSpillingWindowSuite extends SpillingWindowSuite {
  override protected def offHeap: Boolean = true
}
