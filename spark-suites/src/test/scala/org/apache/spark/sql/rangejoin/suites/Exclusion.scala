// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import scala.math.Ordering.Implicits._

import org.apache.spark.SPARK_VERSION

import org.scalatest.exceptions.TestFailedException

/**
 * A test of Spark that cannot pass although every result is right. It is run all the same: it must
 * fail, and by a failure its reason accounts for, so that no exclusion hides a wrong result and none
 * outlives its cause.
 */
case class Exclusion(reason: Exclusion.Reason, test: String)

object Exclusion {

  /** What the test expects that is no result. */
  sealed trait Reason {

    /** Whether the test can fail by this for the given reason. */
    def accountsFor(failure: Throwable): Boolean = failure match {
      // Raised by the test itself. What is raised by a query comes as another exception, or as text.
      case _: TestFailedException | _: AssertionError | _: NoSuchElementException =>
        !ofResults.exists(String.valueOf(failure.getMessage).contains)
      case _ => false
    }
  }

  /** Looks for `SortMergeJoinExec` in a plan, by its class or name. */
  case object AssertsStockNode extends Reason

  /**
   * Expects the buffer of the stock node to spill, or not to, at the second row. The window writes a
   * block at a time, and keeps all rows of a key for a semi or anti join without a condition, too.
   */
  case object AssertsStockSpills extends Reason

  /**
   * A golden file has a `LIMIT` without an order at this query, or an order with ties, and the rows as a
   * broadcast join gives them. Stock Spark without broadcast joins gives others, too.
   */
  case class OrderNotGiven(query: Int) extends Reason {
    override def accountsFor(failure: Throwable): Boolean = failure match {
      case e: TestFailedException => e.getMessage.contains(s"$ofGoldenFiles for query #$query\n")
      case _                      => false
    }
  }

  /** A golden file has a plan with a stock node at this query. */
  case class ExplainsStockNode(query: Int) extends Reason {
    override def accountsFor(failure: Throwable): Boolean = failure match {
      case e: TestFailedException =>
        e.getMessage.contains(s"$ofGoldenFiles for query #$query\nEXPLAIN\n")
      case _ => false
    }
  }

  /** Stock Spark without broadcast joins raises an error of its own at this query of a golden file. */
  case class StockRaises(query: Int) extends Reason {
    override def accountsFor(failure: Throwable): Boolean = failure match {
      case e: TestFailedException =>
        e.getMessage.contains(
          s"""but got Some("struct<>") Schema did not match for query #$query\n""")
      case _ => false
    }
  }

  /** The exclusions of several tests for one reason. */
  def of(reason: Reason)(tests: String*): Seq[Exclusion] = tests.map(Exclusion(reason, _))

  /** Exclusions from a line of Spark on: the tests of older ones pass, or have another name. */
  def since(line: String)(exclusions: Seq[Exclusion]): Seq[Exclusion] =
    if (isSince(line)) exclusions else Nil

  /** Exclusions of the lines of Spark before one. */
  def before(line: String)(exclusions: Seq[Exclusion]): Seq[Exclusion] =
    if (isSince(line)) Nil else exclusions

  /** Whether the tests are those of this line of Spark, or of a newer one. */
  def isSince(line: String): Boolean = {
    def number(version: String) = version.split('.').take(2).map(_.toInt).toSeq
    number(SPARK_VERSION) >= number(line)
  }

  // As Spark's comparisons of rows word it.
  private val ofGoldenFiles = "Result did not match"
  private val ofResults =
    Seq("Results do not match", "Exception thrown while executing", ofGoldenFiles)
}
