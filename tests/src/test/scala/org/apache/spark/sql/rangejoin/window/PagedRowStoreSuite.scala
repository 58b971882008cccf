// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.rangejoin.SlowTests

/** Rows in pages: what comes back, and how much memory it takes. */
class PagedRowStoreSuite extends SlowTests with TaskMemory {
  private val Page = WindowMemory.SmallestPage

  private def withStore[T](largestPage: Long = 1L << 20, bytes: Long = 64L << 20)(
      block: (PagedRowStore, WindowMemory) => T): T = withTask(bytes) { task =>
    val memory = new WindowMemory(task)
    val store = new PagedRowStore(memory, task, largestPage)
    try block(store, memory)
    finally {
      store.release()
      assert(memory.getUsed == 0L)
    }
  }

  private def read(store: PagedRowStore, reference: Long): Long = {
    val into = emptyRow
    store.read(reference, into)
    idOf(into)
  }

  test("a store without rows takes no memory") {
    withStore() { (_, memory) => assert(memory.getUsed == 0L) }
  }

  test("a row larger than a page has a page of its own size") {
    withStore() { (store, memory) =>
      val small = store.append(row(1))
      val large = store.append(row(2, payload = 3 * Page.toInt))
      assert(memory.getUsed - 4 * Page < 100)
      val next = store.append(row(3))
      assert(Seq(small, large, next).map(read(store, _)) == Seq(1L, 2L, 3L))
    }
  }

  test("a large row takes the place of a page that has no rows") {
    withStore() { (store, memory) =>
      for (pages <- 1 to 10) {
        val large = pages * 3 * Page.toInt
        val reference = store.append(row(pages, payload = large))
        assert(read(store, reference) == pages)
        store.release(reference)
        assert(memory.getUsed <= 2 * large + Page, "the page in use and a spare one")
      }
    }
  }

  test("rows that come and go one by one stay in one page") {
    withStore() { (store, memory) =>
      for (id <- 0L until 10000L) {
        val reference = store.append(row(id, payload = 100))
        assert(read(store, reference) == id)
        store.release(reference)
      }
      assert(memory.peakBytes == Page)
    }
  }

  test("a long stream through a small store stays in two pages") {
    withStore() { (store, memory) =>
      val held = mutable.Queue.empty[(Long, Long)]
      for (id <- 0L until 100000L) {
        held.enqueue(id -> store.append(row(id, payload = 100)))
        if (held.size > 100) {
          val (first, reference) = held.dequeue()
          assert(read(store, reference) == first)
          store.release(reference)
        }
      }
      assert(memory.peakBytes <= 3 * Page, memory.peakBytes)
    }
  }

  test("rows released in the order of their coming give back their pages") {
    withStore(largestPage = Page) { (store, memory) =>
      val references = (0L until 5000L).map(id => store.append(row(id, payload = 100)))
      val full = memory.getUsed
      assert(full >= 8 * Page)
      references.take(2500).foreach(store.release)
      assert(memory.getUsed <= full / 2 + 2 * Page)
      references.drop(2500).foreach(store.release)
      assert(memory.getUsed <= 2 * Page)
    }
  }

  test("rows are moved out of pages that others have left, where there is memory for it") {
    for (free <- Seq(2 * Page, 0L)) withStore(largestPage = Page, bytes = 10 * Page + free) {
      (store, memory) =>
        // 480 rows a page.
        val references = (0L until 4800L).map(id => id -> store.append(row(id, payload = 100)))
        assert(memory.getUsed == 10 * Page && !store.isSparse)
        val (kept, left) = references.partition(_._1 % 100 == 0)
        left.foreach { case (_, reference) => store.release(reference) }
        assert(store.isSparse && memory.getUsed == 10 * Page)
        store.beginCompaction()
        val moved = kept.map { case (id, reference) =>
          val to = store.move(reference)
          id -> (if (to == PagedRowStore.NoRow) reference else to)
        }
        for ((id, reference) <- moved) assert(read(store, reference) == id)
        assert(moved.exists(m => kept.contains(m)) == (free == 0))
        assert(!store.isSparse, "one that found no memory is not tried again at once")
        if (free > 0) assert(memory.getUsed <= 2 * Page)
        else {
          moved.drop(10).foreach { case (_, reference) => store.release(reference) }
          assert(memory.getUsed < 10 * Page)
        }
    }
  }

  test("one row left in a page keeps that page only") {
    withStore(largestPage = Page) { (store, memory) =>
      val references = (0L until 5000L).map(id => store.append(row(id, payload = 100)))
      val kept = references(2500)
      references.filterNot(_ == kept).foreach(store.release)
      assert(memory.getUsed <= 3 * Page)
      assert(read(store, kept) == 2500L)
    }
  }

  test("pages grow with what is held, up to the largest") {
    for ((largest, grown) <- Seq(Page -> Page, 4 * Page -> 4 * Page)) {
      withStore(largestPage = largest) { (store, memory) =>
        val steps = (0L until 10000L).map { id =>
          val before = memory.getUsed
          store.append(row(id, payload = 100))
          memory.getUsed - before
        }.filter(_ > 0)
        assert(steps.head == Page)
        assert(steps == steps.sorted)
        assert(steps.last == grown)
      }
    }
  }

  test("a store that is cleared keeps one page at most, and takes rows again") {
    withStore() { (store, memory) =>
      for (round <- 1 to 3) {
        val references = (0L until 3000L).map(id => store.append(row(id * round, payload = 100)))
        assert(references.map(read(store, _)) == (0L until 3000L).map(_ * round))
        store.clear()
        assert(memory.getUsed <= (1L << 20))
      }
    }
  }

  test("rows of before do not keep the pages of a store that was cleared") {
    withStore(largestPage = Page) { (store, memory) =>
      for (id <- 0L until 3L) store.append(row(id))
      store.clear()
      val references = (0L until 5000L).map(id => store.append(row(id, payload = 100)))
      references.foreach(store.release)
      assert(memory.getUsed <= 2 * Page)
    }
  }

  test("a store that is closed has given back everything, and may be closed again") {
    withStore() { (store, memory) =>
      for (id <- 0L until 3000L) store.append(row(id, payload = 100))
      store.release()
      assert(memory.getUsed == 0L)
      store.release()
    }
  }

  test("a row that finds no memory leaves those before it in place") {
    withStore(largestPage = Page, bytes = 4 * Page) { (store, memory) =>
      val stored = (0L until 100L).flatMap { id =>
        try Some(id -> store.append(row(id, payload = 8000)))
        catch { case _: OutOfMemoryError => None }
      }
      assert(stored.size >= 24)
      assert(stored.map { case (_, reference) => read(store, reference) } ==
        stored.map { case (id, _) => id })
      assert(memory.peakBytes <= 4 * Page)
    }
  }

  testOfCases("random rows come back as from a map", 5)(1 to 10) { seeds =>
    for (seed <- seeds) withStore(largestPage = 2 * Page) { (store, memory) =>
      val random = new Random(seed)
      val model = mutable.LinkedHashMap.empty[Long, Long]
      for (id <- 0L until 3000L) {
        random.nextInt(100) match {
          case 0 if random.nextInt(10) == 0 =>
            store.clear()
            model.clear()
          case n if n < 55 || model.isEmpty =>
            val payload = if (n < 2) Page.toInt + random.nextInt(1000) else random.nextInt(2000)
            model(id) = store.append(row(id, payload))
            assert(model(id) != PagedRowStore.NoRow)
          case n if n < 85 =>
            val (first, reference) = model.head
            store.release(reference)
            model -= first
          case _ =>
            val chosen = model.keys.toIndexedSeq(random.nextInt(model.size))
            store.release(model(chosen))
            model -= chosen
        }
        if (id % 50 == 0) for ((held, reference) <- model) assert(read(store, reference) == held)
      }
      model.values.foreach(store.release)
      assert(memory.getUsed <= 6 * Page, s"seed $seed")
    }
  }
}

/** Likewise, off the heap. */
class OffHeapPagedRowStoreSuite extends PagedRowStoreSuite {
  override protected def offHeap: Boolean = true
}
