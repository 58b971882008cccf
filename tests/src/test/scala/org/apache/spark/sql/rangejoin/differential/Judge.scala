// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import java.time.DateTimeException

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.rangejoin.{ErrorCondition, RangeJoinTest}

/** What a query gave: its rows as sorted text, or an error. */
sealed trait Outcome
case class Gave(rows: Seq[String]) extends Outcome
case class Raised(error: Throwable) extends Outcome {

  private def causes: Iterator[Throwable] = RangeJoinTest.causes(error)

  /** Whether this is an error of the query's arithmetic, such as an overflow. */
  def byQuery: Boolean = !causes.exists(_.isInstanceOf[AnalysisException]) && causes.exists {
    case e: SparkThrowable => Option(ErrorCondition.of(e)).exists(!_.startsWith("INTERNAL_ERROR"))
    // Arithmetic of dates, times and intervals that Spark leaves to Java.
    case _: ArithmeticException | _: DateTimeException => true
    case _                                             => false
  }

  def message: String = causes.map(_.toString.linesIterator.take(3).mkString(" ")).mkString("; ")
}

/**
 * Whether a range join did as it must. Where the expected query gives rows, it gives the same.
 * Where that raises, it may raise or not: it looks at fewer pairs.
 */
object Judge {

  /** What is wrong; None where nothing is. */
  def fault(expected: Outcome, actual: Outcome): Option[String] = (expected, actual) match {
    case (Gave(rows), Gave(others))   => difference(rows, others)
    case (Gave(_), e: Raised)         => Some(s"raised where it must not: ${e.message}")
    case (e: Raised, _) if !e.byQuery => Some(s"the expected query failed: ${e.message}")
    case (_, e: Raised) if !e.byQuery => Some(s"failed: ${e.message}")
    case _                            => None
  }

  private def difference(expected: Seq[String], actual: Seq[String]): Option[String] =
    if (expected == actual) None
    else {
      def some(rows: Seq[String]) = s"${rows.size}: ${rows.take(5).mkString("  ")}"
      Some(
        s"${actual.size} rows, expected ${expected.size}; " +
          s"missing ${some(expected.diff(actual))}; unexpected ${some(actual.diff(expected))}")
    }
}
