// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.util.Random

import org.apache.spark.util.collection.PrimitiveVector

import org.scalatest.funsuite.AnyFunSuite

/** Rows by group and bound: the numbers that a stable sort of pairs gives. */
class RowOrderSuite extends AnyFunSuite {

  private def vector[T](values: Seq[T])(empty: PrimitiveVector[T]): PrimitiveVector[T] = {
    values.foreach(empty += _)
    empty
  }

  private def orderOf(groups: Seq[Int], count: Int): RowOrder = {
    val starts = Array.tabulate(count + 1)(group => groups.count(_ < group))
    new RowOrder(vector(groups)(new PrimitiveVector[Int]), starts)
  }

  private def check(groups: Seq[Int], bounds: Seq[Long], count: Int): Unit = {
    val order = orderOf(groups, count)
    val expected = groups.indices.sortBy(i => (groups(i), bounds(i)))
    val vectorOfBounds = vector(bounds)(new PrimitiveVector[Long])
    val numbers = order.byGroup
    val sorted = numbers.map(bounds)
    order.sortGroups(numbers, sorted)
    assert(numbers.toSeq == expected)
    assert(sorted.toSeq == expected.map(bounds))
    assert(order.byGroup.toSeq == groups.indices.sortBy(groups))
    assert(order.isGiven(Some(vectorOfBounds)) == (expected == groups.indices))
    assert(order.isGiven(None) == (groups == groups.sorted))
  }

  test("groups of every size about where another sort begins, and bounds of every kind") {
    val random = new Random(21)
    val extremes = Seq(Long.MinValue, -1L, 0L, Long.MaxValue)
    for (size <- Seq(0, 1, 2, 47, 48, 49, 50, 200, 5000)) {
      // A vector, whose elements are found at once by their numbers.
      val groups =
        random.shuffle(Vector.fill(size)(1) ++ Vector.fill(60)(2) ++ Vector.fill(3)(4))
      check(groups, groups.map(_ => random.nextLong()), 5)
      check(groups, groups.map(_ => random.nextInt(7).toLong - 3), 5)
      check(groups, groups.map(_ => extremes(random.nextInt(4))), 5)
      check(groups, groups.indices.map(_.toLong), 5)
      check(groups, groups.indices.map(-_.toLong), 5)
      val inGroups = groups.sorted
      check(inGroups, inGroups.indices.map(i => (i / 3).toLong), 5)
      check(inGroups, inGroups.map(_ => random.nextInt(100).toLong), 5)
    }
  }

  test("no rows, and groups without rows") {
    check(Nil, Nil, 0)
    check(Nil, Nil, 3)
    check(Seq(2), Seq(5L), 4)
    assert(orderOf(Seq(0, 2, 2), 4).largestGroup == 2)
    assert(orderOf(Nil, 1).largestGroup == 0)
  }
}
