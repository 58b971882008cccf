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

  test("rows are read in the order they came, with their bounds") {
    withWindow() { (window, _) =>
      append(window, 1, 2, 3)
      assert(ids(window) == Seq(1, 2, 3))
    }
  }

  test("rows leave at the head") {
    withWindow() { (window, _) =>
      append(window, 1, 2, 3)
      evict(window, 1)
      assert(ids(window) == Seq(2, 3))
      assert(holes(window) == 0)
      append(window, 4)
      evict(window, 2, 3, 4)
      assert(ids(window).isEmpty)
      append(window, 5)
      assert(ids(window) == Seq(5))
    }
  }

  test("a row that leaves from the middle is a hole, and indices stay") {
    withWindow() { (window, _) =>
      append(window, 1, 2, 3, 4, 5)
      evict(window, 3)
      assert(ids(window) == Seq(1, 2, 4, 5))
      assert((window.head until window.tail).map(window.isHole) ==
        Seq(false, false, true, false, false))
      evict(window, 5)
      assert(ids(window) == Seq(1, 2, 4))
      assert(holes(window) == 2)
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

  test("a window whose last row leaves before a hole at the tail is empty") {
    withWindow() { (window, _) =>
      append(window, 1, 2)
      evict(window, 2, 1)
      assert(window.isEmpty && holes(window) == 0)
      append(window, 3)
      assert(ids(window) == Seq(3))
    }
  }

  test("the next row is found across holes, old and new") {
    withWindow() { (window, _) =>
      append(window, 1L to 9L: _*)
      def next(from: Long): Long = {
        val index = window.nextRow(window.head + from.toInt - 1)
        if (index == window.tail) -1 else window.sortBound(index) / 10
      }
      assert(next(1) == 1 && next(9) == 9)
      evict(window, 4, 6)
      assert(next(4) == 5 && next(5) == 5 && next(6) == 7)
      // Holes on either side of one whose way has been shortened.
      evict(window, 5, 7, 3)
      assert(next(3) == 8 && next(4) == 8 && next(6) == 8 && next(3) == 8)
      evict(window, 9)
      assert(next(9) == -1)
      append(window, 10)
      assert(next(9) == 10)
      assert(ids(window) == Seq(1, 2, 8, 10))
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

  test("a mark stays with its row until it leaves") {
    withWindow() { (window, _) =>
      append(window, 1L to 8L: _*)
      def marked = (window.head until window.tail)
        .filter(i => !window.isHole(i) && window.isMatched(i)).map(window.sortBound(_) / 10)
      assert(marked.isEmpty)
      Seq(0, 6).foreach(i => window.markMatched(window.head + i))
      window.markMatched(window.head)
      assert(marked == Seq(1, 7))
      evict(window, 2, 3, 4, 5, 6)
      window.settle()
      assert(marked == Seq(1, 7))
      assert(ids(window) == Seq(1, 7, 8))
      evict(window, 1)
      assert(marked == Seq(7))
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

  test("a window that has to grow keeps its rows, with holes and after a shift") {
    withWindow() { (window, _) =>
      append(window, 1L to 200L: _*)
      evict(window, 1L to 50L: _*)
      evict(window, 60L, 70L)
      append(window, 201L to 1000L: _*)
      assert(ids(window) == (51L to 1000L).filterNot(Set(60L, 70L)))
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

  test("a window that is cleared is empty and takes rows again") {
    withWindow() { (window, memory) =>
      append(window, 1, 2, 3)
      evict(window, 2)
      window.clear()
      assert(window.isEmpty && window.size == 0 && holes(window) == 0)
      append(window, 4)
      assert(ids(window) == Seq(4))
      assert(window.peakRows == 3)
      assert(memory.getUsed > 0L)
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

  test("rows larger than a page are rows like others") {
    withWindow() { (window, _) =>
      val large = 2 * WindowMemory.SmallestPage.toInt
      for (id <- 1L to 20L) {
        window.append(row(id, if (id % 3 == 0) large else 8), id * 10, id * 10 + 5)
        if (id > 5) window.evict(window.head)
      }
      assert(ids(window) == (16L to 20L))
    }
  }
}
