// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import java.lang.reflect.Modifier
import java.util.{Collections, IdentityHashMap}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

class PrefixSorterSuite extends RangeJoinTest {

  test("a sorter that is done forgets the longs that were made for its strings") {
    for (strings <- Seq(300, 100000)) {
      val (before, after, rows) = spark.sparkContext.parallelize(Seq(strings), 1)
        .map(PrefixSorterSuite.codesBeforeAndAfter).collect().head
      assert(rows == 3000)
      assert(before > 0 && after == 0, s"$strings strings: $before, then $after")
    }
  }

  private def inAnyOrder(keyOf: Int => String): Seq[(String, Long)] =
    spark.sparkContext.parallelize(Seq(0), 1)
      .flatMap(_ => PrefixSorterSuite.inAnyOrder(keyOf)).collect().toSeq

  test("the rows of a string come as they came, where strings are too many for a dictionary") {
    for (keyOf <- Seq[Int => String](
        i => s"k${i * 7919 % 1000}",
        i => s"a string of some length, ${i * 7919 % 1000}, and more",
        i => f"in order $i%09d".dropRight(1))) {
      val came = (0 until 3000).map(i => (keyOf(i), -i.toLong))
      assert(inAnyOrder(keyOf) == came.sortBy(_._1))
    }
  }

  test("the rows of a string come in order, where strings have a dictionary") {
    def keyOf(i: Int) = s"k${i * 7919 % 100}"
    assert(inAnyOrder(keyOf) == (0 until 3000).map(i => (keyOf(i), -i.toLong)).sorted)
  }

  test("strings of which each comes once get no dictionary, however many rows it has") {
    // The first rows have as many strings as a dictionary may have, and the others have others.
    def keyOf(i: Int) = (i / 6 * 7919 % 500).toString
    val came = (0 until 3000).map(i => (keyOf(i), -i.toLong))
    assert(inAnyOrder(keyOf) == came.sortBy(_._1))
  }
}

private object PrefixSorterSuite {

  /** A sorter by a string and a number, with 3,000 rows. */
  private def sorterOf(row: Int => (String, Long)): PrefixSorter = {
    val columns = Seq[DataType](StringType, LongType)
    val order = columns.indices.map(i =>
      SortOrder(BoundReference(i, columns(i), nullable = true), Ascending))
    val sorter = new PrefixSorter(new SortColumns(order, columns.size))
    val project = UnsafeProjection.create(columns.toArray)
    for (i <- 0 until 3000) {
      val (string, number) = row(i)
      sorter.insert(project(InternalRow(UTF8String.fromString(string), number)))
    }
    sorter
  }

  /** What comes out of rows of 3,000 numbers that fall, if it may come in any order within a key. */
  def inAnyOrder(keyOf: Int => String): Seq[(String, Long)] = {
    val rows = sorterOf(i => (keyOf(i), -i.toLong)).sorted()
    rows match {
      case groups: GroupedRows => groups.takeInAnyOrder()
      case _                   =>
    }
    rows.map(row => (row.getString(0), row.getLong(1))).toVector
  }

  /** How many a sorter holds while its rows are read and when they have been, and the number of these. */
  def codesBeforeAndAfter(strings: Int): (Int, Int, Int) = {
    val sorter = sorterOf(i => (s"sensor-${i * 7919L % strings}", i.toLong))
    val rows = sorter.sorted()
    val before = codesWithin(sorter)
    val count = rows.size
    (before, codesWithin(sorter), count)
  }

  /** Counts codes that can be reached through objects of the sort, and of generated code. */
  private def codesWithin(root: AnyRef): Int = {
    val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    def visit(found: AnyRef): Unit = found match {
      case array: Array[AnyRef]                => array.foreach(visit)
      case found if found == null              =>
      case found if isFollowed(found.getClass) =>
        if (seen.add(found)) fieldsOf(found).foreach(visit)
      case _ =>
    }
    visit(root)
    seen.toArray.count(_.isInstanceOf[KeyCodes])
  }

  private def isFollowed(kind: Class[_]): Boolean =
    kind.getName.contains("rangejoin.sort.") || kind.getName.contains("GeneratedClass")

  private def fieldsOf(owner: AnyRef): Seq[AnyRef] =
    Iterator.iterate[Class[_]](owner.getClass)(_.getSuperclass).takeWhile(isFollowed)
      .flatMap(_.getDeclaredFields)
      .filterNot(field => field.getType.isPrimitive || Modifier.isStatic(field.getModifiers))
      .map { field =>
        field.setAccessible(true)
        field.get(owner)
      }.toSeq
}
