// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** The window: rows by index, in the order of their sort bounds, with holes and without. */
class RangeWindowSuite extends AnyFunSuite with TaskMemory {

  /** The rows of the window by index; their bounds have to be those they came with. */
  private def ids(window: RangeWindow): Seq[Long] = {
    val into = emptyRow
    val found = (window.head until window.tail).filterNot(window.isHole).map { index =>
      window.read(index, into)
      val id = idOf(into)
      assert(window.sortBound(index) == id * 10)
      assert(window.evictBound(index) == id * 10 + 5)
      id
    }
    assert(found.size == window.size)
    assert(found.isEmpty == window.isEmpty)
    found
  }

  private def evict(window: RangeWindow, ids: Long*): Unit = ids.foreach { id =>
    val index = (window.head until window.tail).find { i =>
      !window.isHole(i) && window.sortBound(i) == id * 10
    }
    window.evict(index.get)
  }

  private def holes(window: RangeWindow): Int = window.tail - window.head - window.size

  test("a new window is empty and takes no memory") {
    withWindow() { (window, memory) =>
      assert(window.isEmpty && window.size == 0 && window.peakRows == 0)
      assert(ids(window).isEmpty)
      assert(memory.getUsed == 0L)
    }
  }

  test("the head is never a hole") {
    withWindow() { (window, _) =>
      append(window, 1, 2, 3, 4)
      evict(window, 2, 3)
      val head = window.head
      evict(window, 1)
      assert(window.head == head + 3)
      assert(ids(window) == Seq(4))
      assert(holes(window) == 0)
    }
  }

  test("the next row is that of a plain search, whatever was evicted before") {
    for (seed <- 1 to 50) withWindow() { (window, _) =>
      val random = new Random(seed)
      var id = 0L
      for (_ <- 1 to 60) {
        if (window.isEmpty || random.nextInt(3) == 0) {
          for (_ <- 0 to random.nextInt(4)) {
            id += 1
            append(window, id)
          }
        } else {
          val rows = (window.head until window.tail).filterNot(window.isHole)
          window.evict(rows(random.nextInt(rows.size)))
        }
        if (random.nextInt(10) == 0) window.settle()
        for (index <- window.head to window.tail) {
          val expected = (index until window.tail).find(i => !window.isHole(i))
          assert(window.nextRow(index) == expected.getOrElse(window.tail), s"seed $seed")
        }
      }
    }
  }

  test("holes are closed once they outnumber the rows, not before") {
    withWindow() { (window, _) =>
      append(window, 1L to 8L: _*)
      evict(window, 2, 3, 4, 5)
      window.settle()
      assert(holes(window) == 4)
      evict(window, 7)
      window.settle()
      assert(holes(window) == 0)
      assert(ids(window) == Seq(1, 6, 8))
      append(window, 9)
      assert(ids(window) == Seq(1, 6, 8, 9))
    }
  }

  test("a long stream through a small window takes the memory of a small window") {
    withWindow() { (window, memory) =>
      var first = 0L
      val used = mutable.Set.empty[Long]
      for (id <- 0L until 200000L) {
        append(window, id)
        if (window.size > 100) {
          assert(window.sortBound(window.head) == first * 10)
          window.evict(window.head)
          first += 1
        }
        if (id > 10000) used += memory.getUsed
      }
      assert(ids(window) == (199900L until 200000L))
      assert(window.peakRows == 101)
      assert(used.size == 1, "memory is flat")
      assert(window.peakMemory <= 4 * WindowMemory.SmallestPage, window.peakMemory)
      assert(window.peakMemory == memory.peakBytes)
    }
  }

  test("a window with long-lived rows among a stream takes the memory of those it holds") {
    withWindow() { (window, memory) =>
      for (id <- 0L until 50000L) {
        window.settle()
        append(window, id)
        // Every hundredth row of the first thousand stays.
        if (id % 100 != 0 || id >= 1000) evict(window, id)
      }
      window.settle()
      assert(ids(window) == (0L until 1000L by 100))
      assert(window.peakRows == 11)
      assert(memory.peakBytes <= 4 * WindowMemory.SmallestPage)
    }
  }

  test("a window that is closed has given back everything, and may be closed again") {
    withWindow() { (window, memory) =>
      append(window, 1L to 1000L: _*)
      window.close()
      assert(memory.getUsed == 0L)
      assert(window.isEmpty)
      window.close()
      assert(window.peakRows == 1000)
    }
  }
}
