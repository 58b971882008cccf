// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import java.lang.management.ManagementFactory

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.TaskKilledException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  Literal,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.rangejoin.window.TaskMemory
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** An index whose memory is accounted, and what becomes of its rows where there is too little. */
class IndexMemorySuite extends AnyFunSuite with TaskMemory {
  import IndexMemorySuite._

  private val types = Seq(LongType, StringType, LongType, LongType, IntegerType)

  /** Rows of a long and a string key, two bounds, a number; with NULLs, in no order. */
  private def rows(count: Int, keys: Int): Seq[UnsafeRow] = {
    val random = new Random(count + keys)
    val project = UnsafeProjection.create(types.toArray[DataType])
    Seq.tabulate(count) { i =>
      val key = random.nextInt(keys)
      def orNull(value: Any): Any = if (random.nextInt(20) == 0) null else value
      val bound = random.nextInt(1000).toLong
      project(
        InternalRow(
          orNull(key.toLong),
          UTF8String.fromString(s"key $key" * (1 + key % 3)),
          orNull(bound),
          orNull(bound + random.nextInt(50)),
          i)).copy()
    }
  }

  private def mode(ofStrings: Boolean, twoBounds: Boolean): RangeIndexMode = {
    def column(i: Int) = BoundReference(i, types(i), nullable = true)
    RangeIndexMode(
      Seq(column(if (ofStrings) 1 else 0)),
      Some(column(2)),
      if (twoBounds) Some(column(3)) else None,
      None,
      None,
      linearScanThreshold = 4)()
  }

  private def numbers(rows: Iterable[UnsafeRow]): Seq[Int] = rows.map(_.getInt(4)).toSeq.sorted

  private def rowsOf(index: RangeIndex): Seq[Int] = {
    val row = new UnsafeRow(types.size)
    def read(rows: PackedRows) = Seq.tabulate(rows.size) { i =>
      rows.read(i, row)
      row.getInt(4)
    }
    (read(index.rows) ++ read(index.unmatchable)).sorted
  }

  for {
    ofStrings <- Seq(false, true)
    twoBounds <- Seq(false, true)
    (count, keys) <- Seq(0 -> 1, 1 -> 1, 20 -> 3, 3000 -> 3000, 3000 -> 5)
  } test(s"$count rows of $keys keys, strings $ofStrings, two bounds $twoBounds, with any memory") {
    val input = rows(count, keys)
    val needed = {
      val memory = new CountedMemory(Long.MaxValue)
      val index = build(input, mode(ofStrings, twoBounds), memory).toOption.get
      assert(rowsOf(index) == numbers(input))
      val marks = count / 8L + 8L
      assert(
        (memory.held >= index.estimatedSize || count == 0) && memory.held <= index.estimatedSize + marks)
      memory.peak
    }
    val limits = Seq(0L, 100L, needed - 1, needed) ++ (1 to 12).map(needed * _ / 12)
    val built = limits.filter(_ >= 0L).map { limit =>
      val memory = new CountedMemory(limit)
      build(input, mode(ofStrings, twoBounds), memory) match {
        case Right(index) =>
          assert(limit >= needed && rowsOf(index) == numbers(input))
          true
        case Left(drained) =>
          assert(limit < needed && drained == numbers(input))
          assert(memory.held == 0L)
          false
      }
    }
    assert(built.toSet == (if (count == 0) Set(true) else Set(true, false)))
  }

  for (isSorted <- Seq(false, true))
    test(
      s"an index asks for the rows that it copies, in the order of values that agree in a prefix: $isSorted") {
      val project = UnsafeProjection.create(types.toArray[DataType])
      val random = new Random(7)
      val padding = UTF8String.fromString("x" * 1000)
      val input = Seq.tabulate(20000) { i =>
        val value = if (isSorted) i.toLong else random.nextLong()
        project(InternalRow(1L, padding, value, value, i)).copy()
      }
      val value = BoundReference(2, LongType, nullable = true)
      val ofPrefix = mode(ofStrings = false, twoBounds = false)
        .copy(sortBound = Some(Literal(0L)), sortValue = Some(value))("")
      val memory = new CountedMemory(Long.MaxValue)
      val build = new IndexBuild(ofPrefix, 0, keepsUnmatchable = false, memory)
      assert(input.forall(build.add))
      val held = memory.held
      val threads =
        ManagementFactory.getThreadMXBean.asInstanceOf[com.sun.management.ThreadMXBean]
      val before = threads.getThreadAllocatedBytes(Thread.currentThread.getId)
      val index = build.result().get
      val allocated = threads.getThreadAllocatedBytes(Thread.currentThread.getId) - before
      // A chunk of the copies is allocated twice, cut to its rows in the end.
      assert(allocated <= 2 * (memory.peak - held))
      assert(rowsOf(index) == numbers(input))
      val row = new UnsafeRow(types.size)
      val values = input.indices.map { i =>
        index.rows.read(i, row)
        row.getLong(2)
      }
      assert(values == values.sorted)
      assert((allocated > 20000L * 1000) == !isSorted, "rows in order are not copied")
    }

  test("memory is the task's, and all of it is given back") {
    val input = rows(3000, 50)
    withTask(16L << 20) { task =>
      val memory = new TaskIndexMemory(task, Long.MaxValue)
      val index = build(input, mode(ofStrings = false, twoBounds = true), memory).toOption.get
      assert(task.getMemoryConsumptionForThisTask == memory.getUsed)
      assert(memory.getUsed >= index.estimatedSize && memory.peakBytes > memory.getUsed)
      memory.close()
      memory.close()
      // In another thread, which has not seen that the task has ended.
      intercept[TaskKilledException](memory.acquire(1L))
    }
    withTask(100L << 10) { task =>
      val memory = new TaskIndexMemory(task, Long.MaxValue)
      assert(
        build(input, mode(ofStrings = false, twoBounds = true), memory) == Left(numbers(input)))
      assert(memory.getUsed == 0L)
    }
  }

  test("another consumer of the task gets what is left, and the index goes on") {
    withTask(4L << 20) { task =>
      val memory = new TaskIndexMemory(task, Long.MaxValue)
      val rival = new Rival(task)
      assert(rival.take(3L << 20) == (3L << 20))
      assert(!memory.acquire(2L << 20) && memory.getUsed == 0L)
      assert(memory.acquire(0L) && memory.acquire(1L << 20))
      assert(rival.take(1L << 20) == 0L)
      memory.close()
      rival.giveAll()
    }
  }

  test("the rows go as they are taken over, and their memory with them") {
    val input = Seq.fill(40)(row(1L, 100 << 10)).zipWithIndex.map { case (_, i) =>
      row(i.toLong, 100 << 10).copy()
    }
    val memory = new CountedMemory(Long.MaxValue)
    val bound = BoundReference(0, LongType, nullable = false)
    val index =
      new IndexBuild(
        RangeIndexMode(Seq(bound), Some(bound), None, None, None, linearScanThreshold = 4)(),
        0,
        keepsUnmatchable = false,
        memory)
    assert(input.forall(index.add))
    val held = mutable.ArrayBuffer.empty[Long]
    index.drain { r =>
      assert(idOf(r) == held.size)
      held += memory.held
    }
    // At last the array that is read, and what is known of keys.
    assert(
      held.size == input.size && held.head > (3L << 20) && held.last <= (1L << 20) + (8L << 10))
    assert(memory.held == 0L)
  }

  test("rows that fill an array to the last byte are accounted for") {
    val project = UnsafeProjection.create(Array.fill[DataType](7)(LongType))
    val row = project(InternalRow.fromSeq(Seq.fill(7)(5L))).copy()
    assert(row.getSizeInBytes == 64)
    val bound = BoundReference(0, LongType, nullable = false)
    val memory = new CountedMemory(Long.MaxValue)
    val index = new IndexBuild(
      RangeIndexMode(Seq(bound), Some(bound), None, None, None, linearScanThreshold = 4)(),
      0,
      keepsUnmatchable = false,
      memory)
    val count = 60000
    assert((1 to count).forall(_ => index.add(row)))
    // The row, its bound, its group and its place.
    assert(memory.held >= count * (64L + 8 + 4))
    assert(index.result().isDefined)
  }

  /** The index of the rows, or those that could not be indexed. */
  private def build(
      rows: Seq[UnsafeRow],
      mode: RangeIndexMode,
      memory: IndexMemory
  ): Either[Seq[Int], RangeIndex] = {
    val index = new IndexBuild(mode, 0, keepsUnmatchable = true, memory)
    val left = rows.dropWhile(index.add)
    val built = if (left.isEmpty) index.result() else None
    built.toRight {
      val drained = mutable.ArrayBuffer.empty[UnsafeRow]
      index.drain(row => drained += row.copy())
      numbers(drained ++ left)
    }
  }
}

private object IndexMemorySuite {

  /** Memory of which there is so much. */
  class CountedMemory(limit: Long) extends IndexMemory {
    var held = 0L
    var peak = 0L

    override def acquire(bytes: Long): Boolean = {
      require(bytes >= 0)
      val fits = bytes <= limit - held
      if (fits) {
        held += bytes
        peak = math.max(peak, held)
      }
      fits
    }

    override def release(bytes: Long): Unit = {
      require(bytes >= 0 && bytes <= held)
      held -= bytes
    }

    override def toBeginWith: Long = 0L
  }
}
