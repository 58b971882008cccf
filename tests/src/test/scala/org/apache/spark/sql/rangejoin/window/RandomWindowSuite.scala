// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.rangejoin.SlowTests

/** Random rows come to a window and leave it, beside a consumer that asks for memory, as in a sequence. */
class RandomWindowSuite extends SlowTests with TaskMemory {
  import RandomWindowSuite._

  protected def seeds: Int = 12

  private def oneInSeeds: Int = (seeds / 3).max(3)

  private val Few = WindowLimits(7, Long.MaxValue)

  for (limits <- Seq(
      WindowLimits.Unlimited,
      WindowLimits(1, Long.MaxValue),
      Few,
      WindowLimits(50, Long.MaxValue),
      WindowLimits(Int.MaxValue, 150L << 10))) {
    testOfCases(
      s"random rows come and go as in a sequence, beside a consumer that asks: $limits",
      oneInSeeds)(1 to seeds)(_.foreach(againstSequence(limits, _)))
  }

  for (limits <-
      Seq(
        WindowLimits.Unlimited,
        WindowLimits(1, Long.MaxValue),
        Few,
        WindowLimits(300, Long.MaxValue)))
    testOfCases(s"rows by their places, as they leave at the head alone: $limits", oneInSeeds)(
      1 to seeds)(_.foreach(placesAgainstSequence(limits, _)))

  /** A window with little memory and small files, and who asks for that memory. */
  private def withRivalled(limits: WindowLimits)(block: (RangeWindow, Rival) => Unit): Unit =
    withRival(1L << 20, 128L << 10, limits, largestFile = 4000)((window, _, rival) =>
      block(window, rival))

  private def placesAgainstSequence(limits: WindowLimits, seed: Int): Unit =
    withRivalled(limits) { (window, rival) =>
      val random = new Random(seed)
      val into = emptyRow
      var first = 0L
      var next = 0L
      for (_ <- 1 to 60) {
        val added = random.nextInt(if (random.nextInt(4) == 0) 3000 else 30)
        append(window, next until next + added: _*)
        next += added
        if (random.nextInt(4) == 0) window.settle()
        if (random.nextInt(6) == 0) rival.take(random.nextInt(1 << 20))
        if (random.nextInt(6) == 0) rival.giveAll()
        val leave = random.nextInt((next - first).toInt + 1)
        for (_ <- 1 to leave) window.evict(window.head)
        first += leave
        assert(window.isDense && window.size == next - first)
        for (_ <- 1 to 10 if first < next) {
          if (random.nextInt(9) == 0) rival.take(random.nextInt(1 << 20))
          if (random.nextInt(9) == 0) rival.giveAll()
          val id = first + random.nextInt((next - first).toInt)
          assert(window.rowsUpTo(id * 10) == id - first + 1 && window.rowsUpTo(
            id * 10 - 1) == id - first)
          window.read(window.head + (id - first).toInt, into)
          assert(idOf(into) == id)
        }
        if (next - first > 2 && random.nextInt(30) == 0) {
          window.evict(window.nextRow(window.nextRow(window.head) + 1))
          assert(!window.isDense)
          window.clear()
          first = next
        }
      }
    }

  private def againstSequence(limits: WindowLimits, seed: Int): Unit =
    withRivalled(limits) { (window, rival) =>
      val random = new Random(seed)
      val model = mutable.ArrayBuffer.empty[Model]
      val into = emptyRow
      var next = 0L
      var peak = 0

      def mayAsk(): Unit = random.nextInt(40) match {
        case 0 => rival.take(random.nextInt(1 << 20))
        case 1 => rival.giveAll()
        case _ =>
      }

      /** A scan that marks and evicts as it goes. */
      def scan(): Unit = {
        val leaves = random.nextInt(4)
        val before = model.toVector
        val seen = mutable.ArrayBuffer.empty[Long]
        var index = window.nextRow(window.head)
        while (index < window.tail) {
          assert(window.sortBound(index) % 10 == 0)
          window.read(index, into)
          val id = idOf(into)
          mayAsk()
          assert(idOf(into) == id, "the row that is read stays")
          val row = model.find(_.id == id).get
          assert(window.isMatched(index) == row.matched)
          assert(window.sortBound(index) == id * 10 && window.evictBound(index) == id * 10 + 5)
          seen += id
          if (random.nextInt(5) == 0) {
            window.markMatched(index)
            row.matched = true
          }
          mayAsk()
          if (random.nextInt(10) < leaves) {
            window.evict(index)
            model -= row
          }
          index = window.nextRow(index + 1)
        }
        assert(seen.toSeq == before.map(_.id))
      }

      for (_ <- 1 to 60) {
        random.nextInt(10) match {
          case 0 if random.nextInt(3) == 0 =>
            window.clear()
            model.clear()
          case n if n < 5 =>
            for (_ <- 1 to random.nextInt(if (n == 1) 300 else 30)) {
              val payload = if (random.nextInt(50) == 0) 20000 else random.nextInt(200)
              window.append(row(next, payload), next * 10, next * 10 + 5)
              model += new Model(next)
              next += 1
              mayAsk()
            }
          case _ =>
            window.settle()
            mayAsk()
            scan()
        }
        assert(window.size == model.size)
        peak = math.max(peak, model.size)
      }
      window.settle()
      scan()
      assert(window.peakRows == peak)
    }
}

private object RandomWindowSuite {
  private class Model(val id: Long) {
    var matched = false
  }
}

/** Likewise, in memory off the heap. */
class OffHeapRandomWindowSuite extends RandomWindowSuite {
  override protected def offHeap: Boolean = true
  override protected def seeds: Int = 3
}
