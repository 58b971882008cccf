// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Rows that are read along their page: the same as by index, and with few looks at the index. */
class StepsSuite extends AnyFunSuite with TaskMemory {

  /** The ids of the rows, and how often one had to be read by its index. */
  private def alongPages(window: RangeWindow)(atRow: Int => Unit): (Seq[Long], Int) = {
    val found = mutable.ArrayBuffer.empty[Long]
    val into = emptyRow
    var index = window.head
    var reads = 0
    while (index < window.tail) {
      window.read(index, into)
      window.beginSteps(index, window.tail)
      reads += 1
      do {
        found += idOf(into)
        atRow(found.size)
      } while (window.step(into))
      val next = window.endSteps()
      assert(next > index && !window.step(into))
      index = next
    }
    (found.toSeq, reads)
  }

  private def byIndex(window: RangeWindow): Seq[Long] = {
    val into = emptyRow
    (window.head until window.tail).map { index =>
      window.read(index, into)
      idOf(into)
    }
  }

  test("a row of each page is read by its index, the others by steps") {
    withWindow() { (window, _) =>
      for (id <- 1L to 1000L) window.append(row(id), id, id)
      assert(alongPages(window)(_ => ()) == (1L to 1000L, 1))
      for (id <- 1001L to 20000L) window.append(row(id), id, id)
      val (ids, reads) = alongPages(window)(_ => ())
      assert(ids == (1L to 20000L) && reads > 2 && reads < 10, reads)
      for (_ <- 1 to 500) window.evict(window.head)
      assert(alongPages(window)(_ => ()) == (501L to 20000L, reads))
    }
  }

  test("steps go no further than they are to") {
    withWindow() { (window, _) =>
      for (id <- 1L to 10L) window.append(row(id), id, id)
      val into = emptyRow
      for (from <- 0 to 9; until <- from + 1 to 10) {
        window.read(from, into)
        window.beginSteps(from, until)
        var steps = 0
        while (window.step(into)) steps += 1
        assert(idOf(into) == until && steps == until - 1 - from && window.endSteps() == until)
        // Left in the middle.
        window.read(from, into)
        window.beginSteps(from, until)
        val made = window.step(into)
        assert(window.endSteps() == from + (if (made) 2 else 1))
      }
    }
  }

  test("rows that come behind some that were moved, and others for which there was no room") {
    val large = 1 << 20
    withWindow(bytes = 4L * large + (600 << 10), largestPage = 64L << 10) { (window, memory) =>
      for (id <- 1L to 800L) window.append(row(id), id, id)
      for (id <- 801L to 804L) window.append(row(id, large - 1000), id, id)
      for (_ <- 1 until 800) window.evict(window.head)
      val before = memory.bytesInUse
      window.settle()
      assert(memory.bytesInUse > before, "there is room for a page of short rows alone")
      for (id <- 805L to 810L) window.append(row(id), id, id)
      assert(window.isContiguous)
      assert(alongPages(window)(_ => ())._1 == (800L to 810L))
    }
  }

  test("whatever has left, rows are those that are read by index") {
    var steps = 0
    for (seed <- 1 to 60) withWindow(largestPage = 64L << 10) { (window, _) =>
      val random = new Random(seed)
      var id = 0L
      for (_ <- 1 to 40) {
        val payload = Seq(0, 8, 40, 3000)(random.nextInt(4))
        for (_ <- 1 to random.nextInt(60)) {
          id += 1
          window.append(row(id, payload), id, id)
        }
        if (random.nextBoolean()) {
          var left = random.nextInt(1 + window.size)
          while (left > 0 && !window.isEmpty) {
            val middle = random.nextInt(4) == 0
            val index =
              if (middle) window.nextRow(window.head + random.nextInt(window.tail - window.head))
              else window.head
            if (index < window.tail) window.evict(index)
            left -= 1
          }
        }
        window.settle()
        if (random.nextInt(9) == 0) window.clear()
        if (window.isContiguous) {
          val (ids, reads) = alongPages(window)(_ => ())
          assert(ids == byIndex(window), s"seed $seed")
          steps += ids.size - reads
        }
      }
    }
    assert(steps > 10000, steps)
  }

  test(
    "where memory is given back steps go on to the end of the page, and reading goes on from disk") {
    for (at <- Seq(1, 77, 4321, 19999))
      withRival(4L << 20, largestPage = 256L << 10) { (window, _, rival) =>
        for (id <- 1L to 20000L) window.append(row(id), id, id)
        val (ids, _) = alongPages(window) { rows =>
          if (rows == at) assert(rival.take(3L << 20) == (3L << 20) && window.sizeInMemory == 0)
        }
        assert(ids == (1L to 20000L))
      }
  }
}
