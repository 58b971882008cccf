// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession
import org.apache.spark.sql.rangejoin.suites.Exclusion._
import org.apache.spark.sql.test.SharedSparkSession
import org.apache.spark.sql.{QueryTest, Row}

import org.scalatest.Args
import org.scalatest.events.{Event, TestCanceled, TestFailed}
import org.scalatest.funsuite.AnyFunSuite

/** That suites with range joins can fail, and do where they have to. */
class WithRangeJoinsSuite extends AnyFunSuite {
  import WithRangeJoinsSuite._

  private val excluded = Exclusion.of(AssertsStockNode)("it holds")

  test("a suite without a range join fails, and one with a range join passes") {
    assert(outcome(new OneTest(_ => ())).contains("0 range joins planned"))
    assert(outcome(new OneTest(join)) == "passed")
  }

  test("an excluded test has to exist") {
    val misspelt = Exclusion.of(AssertsStockNode)("it hold")
    assert(outcome(new OneTest(join, misspelt)).contains("no tests of the suite"))
  }

  test("an excluded test has to fail") {
    assert(outcome(new OneTest(join, excluded)).contains("need not be excluded"))
  }

  test("an excluded test is canceled when it fails by what it expects of a plan") {
    def failing(failure: => Any) = new OneTest(
      session => {
        join(session)
        failure
      },
      excluded
    )
    assert(outcome(failing(fail("0 did not equal 1"))).startsWith("canceled"))
    assert(outcome(failing(Predef.assert(false))).startsWith("canceled"))
    assert(outcome(failing(Nil.head)).startsWith("canceled"))
    assert(outcome(failing(throw new MatchError("broken"))).startsWith("failed"))
  }

  test("an excluded test fails by wrong rows and by errors of a query") {
    class WrongRows extends OneTest(join, excluded) {
      override def check(): Unit = checkAnswer(spark.range(3).toDF(), Row(7))
    }
    assert(outcome(new WrongRows).startsWith("failed"))
    class Raising(run: SparkSession => Any) extends OneTest(run, excluded)
    val raise = "raise_error('broken')"
    assert(outcome(new Raising(_.range(3).selectExpr(raise).collect())).startsWith("failed"))
  }
}

object WithRangeJoinsSuite {

  private def join(session: SparkSession): Unit = {
    val (left, right) = (session.range(3), session.range(5))
    left.hint("merge").join(right, "id").collect()
  }

  private class OneTest(run: SparkSession => Any, besides: Seq[Exclusion] = Nil)
      extends QueryTest
      with SharedSparkSession
      with EveryJoin {
    override protected def exclusions: Seq[Exclusion] = besides
    override protected def hasAllTests: Boolean = true

    def check(): Unit = ()

    test("it holds") {
      run(spark)
      check()
    }
  }

  /** How a suite of one test ends, and why. */
  private def outcome(suite: OneTest): String = {
    val events = new ConcurrentLinkedQueue[Event]()
    // What `afterAll` raises is in the status, what `beforeAll` raises is not caught.
    val status = Try(suite.run(None, Args(event => events.add(event))))
    val ofSuite = status.fold(Some(_), _.unreportedException)
    val ofTest = events.asScala.collectFirst {
      case failed: TestFailed     => s"failed: ${failed.message}"
      case canceled: TestCanceled => s"canceled: ${canceled.message}"
    }
    ofTest.orElse(ofSuite.map(e => s"failed: ${e.getMessage}")).getOrElse("passed")
  }
}
