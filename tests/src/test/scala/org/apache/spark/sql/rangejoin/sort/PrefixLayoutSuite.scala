// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.rangejoin.sort.PrefixLayout._
import org.apache.spark.sql.types.{DataType, LongType}

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

/** Prefixes are in the order of the rows, whatever sample the layout was made from. */
class PrefixLayoutSuite extends AnyFunSuite {
  private type Values = Seq[Option[Long]]

  private val AnyLong = Column(Long.MinValue, Long.MaxValue, OfAll)
  private val AnyInt = Column(Int.MinValue.toLong, Int.MaxValue.toLong, OfAll)
  private val Text = Column(Long.MinValue, Long.MaxValue, OfNone)

  private val projections =
    (0 to 4).map(n => UnsafeProjection.create(Array.fill[DataType](n)(LongType)))

  private def row(values: Values): UnsafeRow =
    projections(values.size)(InternalRow.fromSeq(values.map(_.getOrElse(null))))

  private def guess(columns: Seq[Column], sample: Seq[Values]): PrefixLayout = {
    val known = columns.indices.map(i => sample.flatMap(_(i)))
    PrefixLayout.guess(
      columns.toArray,
      (
        known.map(values => (values :+ Long.MaxValue).min).toArray,
        known.map(values => (values :+ Long.MinValue).max).toArray))
  }

  private def compare(a: Values, b: Values): Int =
    a.zip(b).map { case (x, y) => Ordering[Option[Long]].compare(x, y) }.find(_ != 0).getOrElse(0)

  /** Prefixes of the rows; checks all pairs. */
  private def check(columns: Seq[Column], sample: Seq[Values], rows: Seq[Values]): PrefixLayout = {
    val layout = guess(columns, sample)
    val prefixes = rows.map(values => layout.prefixOf(row(values)))
    for {
      (a, p) <- rows.zip(prefixes)
      (b, q) <- rows.zip(prefixes)
    } {
      val order = java.lang.Long.compareUnsigned(p, q)
      if (order != 0)
        assert(Integer.signum(order) == Integer.signum(compare(a, b)), s"$a $b in $layout")
      else if (layout.isLossless) assert(compare(a, b) == 0, s"$a $b in $layout")
    }
    layout
  }

  private def values(longs: Long*): Values = longs.map(Some(_))

  test("keys and bounds within the sample, and far beyond it, have values of their own") {
    val sample = Seq(values(0, 0), values(99, 1000000000L))
    val layout = check(
      Seq(AnyInt, AnyLong),
      sample,
      Seq(values(-500, -500), values(0, 5), values(0, 6), values(12345, 4000000000L)) ++ sample)
    assert(layout.isLossless)
  }

  test("of a first column that takes all bits no value is cut off by the sample") {
    val tails = Column(0L, (3L << 60) - 1, OfShort)
    val within = (1L << 60) | (0x31323300000000L << 4) | 3
    val layout = check(
      Seq(tails, AnyLong),
      Seq(values(within, 0), values(within | (0x34L << 4), 9)),
      for (value <- Seq(0L, 1L, within - 1, within, (1L << 61) - 9, 2L << 60, (3L << 60) - 9))
        yield values(value, 5)
    )
    assert(layout.decidesFirst && layout.fields == 1)
  }

  test("a value far outside keeps its place, and says so") {
    for (far <- Seq(Long.MinValue, Long.MinValue + 1, Long.MaxValue, Long.MaxValue - 1)) {
      val layout = check(
        Seq(AnyLong, AnyLong),
        Seq(values(10, 10), values(20, 20)),
        Seq(values(far, 1), values(far, 0), values(15, far), values(15, 15), values(16, 0)))
      assert(!layout.isLossless)
    }
  }

  test("keys over the whole of their type leave no room for a bound") {
    val layout = check(
      Seq(AnyLong, AnyLong),
      Seq(values(Long.MinValue, 0), values(Long.MaxValue, 1)),
      Seq(
        values(Long.MinValue, 3),
        values(Long.MinValue + 1, 2),
        values(-1, 5),
        values(0, 4),
        values(0, 6),
        values(Long.MaxValue - 1, 2),
        values(Long.MaxValue, 2))
    )
    assert(!layout.isLossless)
  }

  test("a column that does not decide ends the prefix") {
    val layout = check(
      Seq(AnyInt, Text, AnyLong),
      Seq(values(1, 500, 1), values(2, 600, 2)),
      Seq(values(1, 500, 9), values(1, 500, 3), values(1, 501, 0), values(2, 0, 0)))
    assert(!layout.isLossless)
  }

  test("of a dictionary's longs the odd ones decide") {
    val keys = Column(0, 6, OfOdd)
    val rows = Seq(values(1, 9), values(1, 3), values(3, 2), values(5, 5))
    assert(check(Seq(keys, AnyLong), rows, rows).isLossless)
    val between = values(2, 4)
    val layout = check(Seq(keys, AnyLong), rows, rows :+ between)
    assert(!layout.isLossless)
    // It has to say nothing of what comes after the key: another one may have the same long.
    assert(layout.prefixOf(row(between)) == layout.prefixOf(row(values(2, 400))))
  }

  test("a sample without values, and one of a single row") {
    check(
      Seq(AnyLong, AnyInt),
      Seq(Seq(None, None)),
      Seq(Seq(None, None), values(5, 5), values(-5, 5), Seq(None, Some(1)), Seq(Some(5), None)))
    val layout =
      check(Seq(AnyInt, AnyInt), Seq(values(7, 7)), Seq(values(7, 7), values(8, -7), values(-9, 0)))
    assert(layout.isLossless)
  }

  test("random columns, samples and rows", Slow) {
    val random = new Random(7)
    var (exact, inexact) = (0, 0)
    for (_ <- 1 to 3000) {
      val columns =
        Seq.fill(1 + random.nextInt(4))(Seq(AnyLong, AnyInt, AnyLong, Text)(random.nextInt(4)))
      val widths = columns.map(_ => random.nextInt(65))
      val bases = columns.map(_ => random.nextLong())
      def value(i: Int, width: Int): Option[Long] = {
        val drawn = if (width == 0) 0L else random.nextLong() >>> (64 - width)
        val moved = bases(i) + drawn
        if (random.nextInt(12) == 0) None
        else if (columns(i) == AnyInt) Some(moved.toInt.toLong)
        else Some(moved)
      }
      def draw(more: Int) =
        Seq.fill(8)(columns.indices.map(i => value(i, math.min(64, widths(i) + more))))
      val sample = draw(0)
      val ties = sample.map(s => s.updated(random.nextInt(s.size), s.head))
      val fitting = ties.map(_.zip(columns).map {
        case (Some(v), AnyInt) => Some(v.toInt.toLong)
        case (other, _)        => other
      })
      val layout = check(columns, sample, sample ++ fitting ++ draw(random.nextInt(20)))
      if (layout.isLossless) exact += 1 else inexact += 1
    }
    assert(exact > 300 && inexact > 300, s"$exact exact, $inexact not")
  }
}
