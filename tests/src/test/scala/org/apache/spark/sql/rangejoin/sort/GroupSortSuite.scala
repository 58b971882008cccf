// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import org.apache.spark.TaskContext
import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, SortOrder, UnsafeRow}
import org.apache.spark.sql.execution.{SortExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.unsafe.Platform

import org.scalatest.tagobjects.Slow

/** The incremental sort beside Spark's own sort, of rows that come in order by their first columns. */
class GroupSortSuite extends SortTest {
  import GroupSortSuite._

  /** Rows of these columns, and an id and a payload that are not sorted by. */
  private def table(rows: Int, columns: Seq[Column]): DataFrame = {
    val names = columns.indices.map(i => s"c$i")
    spark.range(0, rows, 1, 2).select(
      columns.zip(names).map { case (c, name) => c.as(name) } :+ col("id") :+
        expr("repeat('x', cast(id % 50 AS INT))").as("p"): _*)
  }

  private def plan(df: DataFrame): SparkPlan =
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false")(executedPlan(df))

  private def orderBy(plan: SparkPlan, columns: Int): Seq[SortOrder] =
    plan.output.take(columns).map(SortOrder(_, Ascending))

  private def incremental(input: SparkPlan, columns: Int, presorted: Int): RangeSortExec = {
    val child = ReusedRows(SortExec(orderBy(input, presorted), global = false, input))
    val ours = RangeSortExec.sort(orderBy(input, columns), child).asInstanceOf[RangeSortExec]
    assert(ours.presorted == orderBy(input, presorted))
    ours
  }

  private def metricsOf(plan: SparkPlan): Map[String, Long] = {
    spark.sparkContext.listenerBus.waitUntilEmpty()
    plan.metrics.map { case (name, metric) => name -> metric.value }
  }

  /** Sorts rows that are in order by the first columns by all of them. */
  private def check(input: SparkPlan, columns: Int, presorted: Int): Map[String, Long] = {
    val ours = incremental(input, columns, presorted)
    val expected = sorted(SortExec(orderBy(input, columns), global = false, input), columns)
    val actual = sorted(ours, columns)
    assert(actual._1 == expected._1)
    assert(actual._2 == expected._2)
    metricsOf(ours)
  }

  private def inAllWays(rows: Int, presorted: Int, columns: Column*): Unit = {
    val input = plan(table(rows, columns))
    check(input, columns.size, presorted)
    withConf(
      SQLConf.CODEGEN_FACTORY_MODE.key -> "NO_CODEGEN",
      SQLConf.RADIX_SORT_ENABLED.key -> "false")(check(input, columns.size, presorted))
  }

  private val Few = expr("cast(pmod(hash(id), 200) AS INT)")
  private val Own = expr("xxhash64(id)")
  private val Same = expr("cast(1 AS INT)")
  private val Narrow = expr("pmod(hash(id, 1), 30)")
  private val Hot = expr("if(pmod(hash(id), 10) < 8, 7, pmod(hash(id, 2), 300))")

  test("groups of some rows, of one row each, and one group") {
    inAllWays(3000, 1, Few, Own)
    inAllWays(3000, 1, Own, Narrow)
    inAllWays(3000, 1, Same, Own)
    inAllWays(3000, 1, Few, expr("id"))
    inAllWays(3000, 1, Few, expr("-id"))
  }

  test("one group among others that outgrows memory is sorted like any input", Slow) {
    val input = plan(table(60000, Seq(Hot, Own)))
    val metrics = check(input, 2, 1)
    assert(metrics("numLargeGroups") == 2) // one in each partition
    assert(metrics("numGroups") == 2 * 300)
    assert(metrics("spillSize") == 0)
    spillingAfter(5000) {
      assert(check(input, 2, 1)("spillSize") > 0)
      withConf(SQLConf.RADIX_SORT_ENABLED.key -> "false") {
        assert(check(input, 2, 1)("spillSize") > 0)
      }
    }
    // Several of them, one after the other.
    val many = plan(table(100000, Seq(expr("id div 17000"), Own, Narrow)))
    assert(check(many, 3, 1)("numLargeGroups") > 2)
    // At the end of the partition.
    check(plan(table(50000, Seq(expr("if(id % 10 < 8, 1, -id)"), Own))), 2, 1)
  }

  test("a child that lost its order is sorted whole, and by comparing rows if settings say so") {
    val input = plan(table(3000, Seq(Few, Own)))
    for ((radix, level) <-
        Seq("true" -> PrefixSorter.FirstLevel, "false" -> PrefixSorter.LastLevel))
      withConf(SQLConf.RADIX_SORT_ENABLED.key -> radix) {
        val whole = incremental(input, 2, 1).copy(child = input)
        assert(whole.presorted.isEmpty && whole.wholeSortLevel == level)
        val expected = sorted(SortExec(orderBy(input, 2), global = false, input), 2)
        assert(sorted(whole, 2) == expected)
      }
  }

  test("NULL in the columns that are in order, and in those that are not") {
    inAllWays(
      3000,
      1,
      expr("if(id % 5 = 0, NULL, id % 300)"),
      expr("if(id % 7 = 0, NULL, hash(id))"))
    inAllWays(3000, 1, expr("cast(NULL AS INT)"), expr("if(id % 2 = 0, NULL, hash(id))"))
    inAllWays(3000, 1, Few, expr("cast(NULL AS BIGINT)"))
    inAllWays(
      3000,
      1,
      Few,
      expr(s"CASE id % 3 WHEN 0 THEN NULL WHEN 1 THEN ${Long.MinValue + 1}L - 1L ELSE id END"))
    inAllWays(
      3000,
      2,
      expr("if(id % 3 = 0, NULL, id % 4)"),
      expr("if(id % 2 = 0, NULL, id % 50)"),
      Own)
  }

  test("which rows are a group is for Spark's order to say") {
    val number = """CASE id % 9 WHEN 0 THEN double('NaN') WHEN 1 THEN double('infinity')
      |WHEN 2 THEN -double('infinity') WHEN 3 THEN -0.0D WHEN 4 THEN 0.0D
      |WHEN 5 THEN double(float('NaN')) ELSE hash(id) % 100 / 1000.0D END""".stripMargin
    inAllWays(3000, 1, expr(number), Own)
    inAllWays(3000, 1, expr(s"cast($number AS FLOAT)"), Own)
    inAllWays(3000, 1, Few, expr(number))
    assert(check(plan(table(3000, Seq(expr("if(id % 2 = 0, 0.0D, -0.0D)"), Own))), 2, 1)(
      "numGroups") == 2)
  }

  testWhere(TypesOfLine.hasCollations)("a letter in two cases is one group, by its collation") {
    val letters = expr("(if(id % 2 = 0, 'a', 'A')) COLLATE UTF8_LCASE")
    val input = plan(table(3000, Seq(letters, Own)))
    val ours = incremental(input, 2, 1)
    val ids = ours.execute().map(_.getLong(1)).mapPartitions(rows => Iterator(rows.toSeq)).collect()
    for (partition <- ids) assert(partition == partition.sorted)
    assert(metricsOf(ours)("numGroups") == 2)
  }

  test("other types, and several columns", Slow) {
    val text = expr("cast(pmod(hash(id), 100) AS STRING)")
    inAllWays(3000, 1, text, Own)
    inAllWays(3000, 1, Few, text)
    inAllWays(3000, 1, Few, expr("concat('a long common prefix ', hash(id))"))
    inAllWays(3000, 1, Few, expr("cast(cast(hash(id) AS STRING) AS BINARY)"))
    inAllWays(3000, 1, expr("cast(cast(id % 50 AS STRING) AS BINARY)"), Narrow)
    inAllWays(3000, 1, expr("named_struct('a', id % 5, 'b', pmod(hash(id), 9))"), Narrow)
    inAllWays(3000, 1, Few, expr("named_struct('a', id % 5, 'b', hash(id))"))
    inAllWays(3000, 1, Few, expr("cast(hash(id) AS DECIMAL(12, 2))"))
    inAllWays(3000, 1, Few, expr("cast(hash(id) AS DECIMAL(30, 10))"))
    inAllWays(3000, 1, expr("array(id % 5, NULL, id % 3)"), Own)
    inAllWays(3000, 1, Few, Narrow, text, Own)
    inAllWays(3000, 2, Few, Narrow, text, Own)
    inAllWays(3000, 3, expr("id % 2 = 0"), Narrow, text, expr("timestamp_micros(hash(id))"))
  }

  test("rows that are longer than the memory of a group") {
    val wide = expr("repeat('y', cast(if(id % 9 < 3, id * 170017 % 1500000, id % 10) AS INT))")
    val input = plan(table(200, Seq(expr("id % 40"), Own, wide)).select("c0", "c1", "id", "c2"))
    assert(check(input, 2, 1)("numLargeGroups") > 0)
    // Alone in its group.
    check(plan(table(60, Seq(Own, Narrow, wide)).select("c0", "c1", "id", "c2")), 2, 1)
  }

  test("no rows, one, and two") {
    for (rows <- 0 to 4) inAllWays(rows, 1, Few, Own)
    check(plan(table(200, Seq(Few, Own)).where("id >= 100")), 2, 1)
  }

  test("no more rows are read than the groups that are asked for") {
    val input = plan(table(1000, Seq(expr("id div 10"), Own)))
    val read = spark.sparkContext.longAccumulator
    val ours = incremental(input, 2, 1)
    val child = ours.child.asInstanceOf[ReusedRows].copy(onRead = () => read.add(1))
    val rows = ours.copy(child = child).execute().mapPartitions(_.take(15)).count()
    assert(rows == 30)
    // Of either partition two groups, and the row that shows where the second one ends.
    assert(read.value == 2 * 21)
  }

  test("memory that another consumer takes is given up, in large groups and between them") {
    val input = plan(table(90000, Seq(Hot, Own)))
    val expected = sorted(SortExec(orderBy(input, 2), global = false, input), 2)
    val greedy = Greedy(incremental(input, 2, 1))
    assert(sorted(greedy, 2) == expected)
    assert(metricsOf(greedy.child)("spillSize") > 0)
  }

  test("a sort that is given up in the middle of a large group leaves nothing behind") {
    val ours = incremental(plan(table(60000, Seq(Same, Own))), 2, 1)
    // Spark's check for leaks fails the task otherwise.
    assert(ours.execute().mapPartitions(_.take(5)).count() == 10)
    val released = ours.execute().mapPartitions { rows =>
      val first = rows.next().getLong(1)
      ours.cleanupResources()
      Iterator(first -> rows.hasNext)
    }.collect()
    assert(released.forall(!_._2))
    assert(metricsOf(ours)("peakMemory") > 0)
  }

  test("rows that are not on the heap") {
    val ours = incremental(plan(table(40000, Seq(Hot, Own))), 2, 1)
    val child = ours.child.asInstanceOf[ReusedRows].copy(offHeap = true)
    assert(sorted(ours.copy(child = child), 2) == sorted(ours, 2))
  }

  test("EXPLAIN and metrics name it, and the child decides") {
    val input = plan(table(10, Seq(Few, Own)))
    val whole = RangeSortExec.sort(orderBy(input, 2), input).asInstanceOf[RangeSortExec]
    assert(whole.presorted.isEmpty)
    assert(!whole.simpleString(100).contains("presorted"))
    assert(!whole.metrics.contains("numGroups"))
    val ours = incremental(input, 2, 1)
    assert(ours.simpleString(100).matches("RangeSort \\[.*\\], presorted: \\[c0#\\d+\\]"))
    assert(!ours.copy(child = input).metrics.contains("numGroups"))
  }

  test("an order of another direction, or with NULL elsewhere, is none") {
    val input = plan(table(10, Seq(Few, Own)))
    val key = input.output.head
    for (order <- Seq(
        SortOrder(key, org.apache.spark.sql.catalyst.expressions.Descending),
        SortOrder(key, Ascending, org.apache.spark.sql.catalyst.expressions.NullsLast, Nil),
        SortOrder(input.output(1), Ascending)
      )) {
      val child = SortExec(Seq(order), global = false, input)
      val ours = RangeSortExec.sort(orderBy(input, 2), child).asInstanceOf[RangeSortExec]
      assert(ours.presorted.isEmpty)
      assert(sorted(ours, 2) == sorted(SortExec(orderBy(input, 2), global = false, input), 2))
    }
  }

  test("an equal order of the child counts") {
    val rows = table(1000, Seq(Few, Own))
    val twice = plan(rows.selectExpr("c0", "c1", "c0 AS other", "id"))
    val (key, other) = (twice.output.head, twice.output(2))
    val equal = Seq(SortOrder(other, Ascending, Seq(key)))
    val child = SortExec(equal, global = false, twice)
    val ours = RangeSortExec.sort(orderBy(twice, 2), child).asInstanceOf[RangeSortExec]
    assert(ours.presorted.map(_.child) == Seq(key))
    assert(sorted(ours, 2) == sorted(SortExec(orderBy(twice, 2), global = false, twice), 2))
  }
}

object GroupSortSuite {

  /**
   * Passes rows on in one and the same row, as operators may: what it held is overwritten when the next
   * is asked for.
   */
  case class ReusedRows(child: SparkPlan, offHeap: Boolean = false, onRead: () => Unit = () => ())
      extends UnaryExecNode {
    override def output = child.output
    override def outputOrdering = child.outputOrdering
    override def outputPartitioning = child.outputPartitioning
    override protected def doExecute() = {
      val width = output.size
      child.execute().mapPartitions { rows =>
        val memory = Platform.allocateMemory(2L << 20)
        TaskContext.get().addTaskCompletionListener[Unit](_ => Platform.freeMemory(memory))
        new Iterator[InternalRow] {
          private val row = new UnsafeRow(width)
          private var bytes = Array.emptyByteArray
          override def hasNext: Boolean = {
            java.util.Arrays.fill(bytes, 0x5a.toByte)
            Platform.setMemory(memory, 0x5a.toByte, 4096)
            rows.hasNext
          }
          override def next(): InternalRow = {
            onRead()
            val next = rows.next().asInstanceOf[UnsafeRow]
            val length = next.getSizeInBytes
            if (offHeap) {
              next.writeToMemory(null, memory)
              row.pointTo(null, memory, length)
            } else {
              bytes = new Array[Byte](length)
              next.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET)
              row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, length)
            }
            row
          }
        }
      }
    }
    override protected def withNewChildInternal(newChild: SparkPlan) = copy(child = newChild)
  }

  /** Asks for all memory of the task now and then, and gives it back. */
  case class Greedy(child: SparkPlan) extends UnaryExecNode {
    override def output = child.output
    override protected def doExecute() = child.execute().mapPartitions { rows =>
      val manager = TaskContext.get().taskMemoryManager()
      val consumer = new Consumer(manager)
      rows.zipWithIndex.map { case (row, i) =>
        val copy = row.copy()
        if (i % 5000 == 4321) {
          val got = manager.acquireExecutionMemory(1L << 40, consumer)
          manager.releaseExecutionMemory(got, consumer)
        }
        copy
      }
    }
    override protected def withNewChildInternal(newChild: SparkPlan) = copy(child = newChild)
  }

  private final class Consumer(manager: TaskMemoryManager)
      extends MemoryConsumer(manager, MemoryMode.ON_HEAP) {
    override def spill(size: Long, trigger: MemoryConsumer): Long = 0L
  }
}
