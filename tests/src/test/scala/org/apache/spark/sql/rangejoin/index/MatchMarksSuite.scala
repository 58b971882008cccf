// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Marks against a set of places. */
class MatchMarksSuite extends AnyFunSuite {

  private def marked(marks: MatchMarks, size: Int): Seq[Int] = (0 until size).filter(marks.isMarked)

  test("a run marks the places from its first up to its last, wherever words end") {
    val size = 200
    val ends = Seq(0, 1, 62, 63, 64, 65, 127, 128, 129, 190, 191, 192, 199, 200)
    for (from <- ends; until <- ends if from < until) {
      val marks = new MatchMarks(size)
      marks.mark(130)
      marks.markRun(from, until)
      assert(marked(marks, size) == ((from until until) :+ 130).distinct.sorted, s"$from, $until")
    }
  }

  test("marks of tasks are put together by slices, and twice the same are once the same") {
    val random = new Random(3)
    for (size <- Seq(0, 1, 63, 64, 65, 128, 700); wordsOfSlice <- Seq(1, 2, 3, 50)) {
      val tasks = Seq.fill(3)(Seq.fill(size / 9)(random.nextInt(size)).distinct)
      val slices = tasks.flatMap { places =>
        val marks = new MatchMarks(size)
        places.foreach(marks.mark)
        val found = marks.slices(wordsOfSlice).toSeq
        found ++ found.take(1)
      }
      val rowsOfSlice = wordsOfSlice * 64
      val all = (0 to size / rowsOfSlice).flatMap { slice =>
        val marks = new MatchMarks(rowsOfSlice)
        slices.filter(_._1 == slice).foreach { case (_, words) => marks.add(words) }
        marked(marks, rowsOfSlice).map(_ + slice * rowsOfSlice)
      }
      assert(all == tasks.flatten.distinct.sorted)
    }
  }

  test("slices without a mark are not sent") {
    val marks = new MatchMarks(1000)
    marks.mark(300)
    assert(marks.slices(1).map(_._1).toSeq == Seq(4))
  }
}
