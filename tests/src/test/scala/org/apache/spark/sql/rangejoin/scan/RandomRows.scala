// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import scala.util.Random

/** Random rows for a scanner, and what is true of a pair of them. */
trait RandomRows {

  /** Bounds of small values, some of them NULL and some, where wanted, unknown. */
  protected def randomRows(random: Random, unknown: Boolean): Seq[Row] =
    Seq.fill(random.nextInt(30)) {
      def orNull(value: => Any): Any = if (random.nextInt(15) == 0) null else value
      val first = random.nextInt(12).toLong
      val second = first - 2 + random.nextInt(6)
      Row(
        orNull(random.nextInt(3)),
        orNull(if (unknown && random.nextInt(6) == 0) Long.MinValue else first),
        orNull(if (unknown && random.nextInt(6) == 0) Long.MaxValue else second)
      )
    }.sortBy { row =>
      (Option(row.key).map(_.asInstanceOf[Int]), Option(row.first).map(_.asInstanceOf[Long]))
    }

  protected def overlaps(streamed: Row, buffered: Row): Boolean =
    (streamed, buffered) match {
      case (Row(k: Int, lower: Long, upper: Long), Row(j: Int, sort: Long, evict: Long)) =>
        k == j && sort <= upper && evict >= lower
      case _ => false
    }

  protected def isExtreme(row: Row): Boolean =
    row.first == Long.MinValue || row.second == Long.MaxValue

  /** Whether the original condition holds, by the positions of the rows. */
  protected def condition(streamed: Int, buffered: Int): Boolean =
    (streamed * 7 + buffered * 3) % 4 != 0

  /** What comparing all rows with all finds. */
  protected def comparedAll(streamed: Seq[Row], buffered: Seq[Row]): Compared = {
    val candidates = for {
      (s, i) <- streamed.zipWithIndex
      (b, j) <- buffered.zipWithIndex
      if overlaps(s, b)
    } yield (i, j)
    val (asked, known) = candidates.partition { case (i, j) =>
      isExtreme(streamed(i)) || isExtreme(buffered(j))
    }
    Compared(candidates, asked, known ++ asked.filter { case (i, j) => condition(i, j) })
  }
}

/**
 * Pairs of rows by their positions.
 *
 * @param candidates that the bounds do not rule out
 * @param asked of these, the ones that the condition has to decide
 * @param pairs of these, the ones that the join has but for its residual
 */
case class Compared(
    candidates: Seq[(Int, Int)],
    asked: Seq[(Int, Int)],
    pairs: Seq[(Int, Int)])
