// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import org.apache.spark.sql.internal.StaticSQLConf
import org.apache.spark.sql.rangejoin.RangeJoinExtensions
import org.apache.spark.sql.test.SharedSparkSessionBase
import org.apache.spark.{SPARK_VERSION, SparkConf, SparkFunSuite}

import org.scalactic.source.Position
import org.scalatest.Tag

/**
 * A suite of Spark with range joins in its plans. It fails if there was none where some are
 * expected, or the other way round, and if an excluded test is not one of its tests, or does not
 * fail as its exclusion says.
 */
trait WithRangeJoins extends SparkFunSuite with SharedSparkSessionBase {

  /** The extension to load. */
  protected def extension: Class[_ <: RangeJoinExtensions]

  /** What cannot pass. A method: tests are registered before a subclass has its values. */
  protected def exclusions: Seq[Exclusion] = Nil

  /** Whether each test that is excluded is there: those of the line that suites are written for. */
  protected def hasAllTests: Boolean = SPARK_VERSION.startsWith("4.2.")

  /** Whether range joins are expected in the plans. */
  protected def plansRangeJoins: Boolean = true

  // Tables of a run that was stopped are not in the way of the next.
  override def sparkConf: SparkConf = super.sparkConf
    .set(
      StaticSQLConf.WAREHOUSE_PATH,
      System.getProperty("java.io.tmpdir") + "/" + getClass.getName)
    .set(
      StaticSQLConf.SPARK_SESSION_EXTENSIONS,
      Seq(extension.getName, classOf[PlannedJoins].getName)
    )

  override protected def test(testName: String, testTags: Tag*)(testFun: => Any)(implicit
      pos: Position
  ): Unit = super.test(testName, testTags: _*) {
    exclusions.find(_.test == testName) match {
      case Some(exclusion) => assertFails(exclusion)(testFun)
      case None            => testFun
    }
  }

  private def assertFails(exclusion: Exclusion)(testFun: => Any): Unit = {
    val failure =
      try {
        testFun
        None
      } catch {
        case e: Throwable => Some(e)
      }
    failure match {
      case None => fail(s"passes: it need not be excluded as $exclusion")
      case Some(e) if !exclusion.reason.accountsFor(e) => throw e
      case Some(e) => cancel(s"excluded, ${exclusion.reason}: ${e.getMessage}", e)
    }
  }

  override def beforeAll(): Unit = {
    val unknown = exclusions.map(_.test).filterNot(testNames.contains)
    assert(unknown.isEmpty || !hasAllTests, "excluded, but no tests of the suite")
    PlannedJoins.reset()
    super.beforeAll()
  }

  override def afterAll(): Unit = {
    super.afterAll()
    val planned = PlannedJoins.count
    println(s"$suiteName: $planned range joins planned")
    assert((planned > 0) == plansRangeJoins, s"$planned range joins planned")
  }
}

/** The extension as it is shipped: range joins where there is a range. */
trait ExtensionLoaded extends WithRangeJoins {
  override protected def extension: Class[_ <: RangeJoinExtensions] = classOf[RangeJoinExtensions]
}

/** A suite that has no join with a range, so that none is planned. */
trait NoRange extends ExtensionLoaded {
  override protected def plansRangeJoins: Boolean = false
}

/** Every sort-merge join is a range join. */
trait EveryJoin extends WithRangeJoins {
  override protected def extension: Class[_ <: RangeJoinExtensions] = classOf[EveryJoinExtensions]
}
