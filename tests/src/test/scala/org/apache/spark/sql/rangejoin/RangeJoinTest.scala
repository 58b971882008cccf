// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import scala.reflect.ClassTag

import org.apache.spark.scheduler.TaskSchedulerImpl
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.joins.SortMergeJoinExec
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.shims.ClassicSession.{Dataset, SparkSession}
import org.apache.spark.sql.rangejoin.shuffled.ShuffledRangeJoinExec
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.{SPARK_VERSION, SparkThrowable}

import org.scalactic.source.Position
import org.scalatest.{Args, Assertions, Outcome, Status, Tag}

/** What suites with a session share: settings for one block, and comparison with stock Spark. */
trait RangeJoinTest extends SlowTests with AdaptiveSparkPlanHelper {
  import RangeJoinTest._

  protected lazy val spark: SparkSession = TestSession.spark

  protected val Flag: String = RangeJoinConf.Enabled.key

  /** Runs a block with settings of the session, and restores them. */
  protected def withConf[T](settings: (String, String)*)(block: => T): T = {
    val before = settings.map { case (key, _) => key -> spark.conf.getOption(key) }
    settings.foreach { case (key, value) => spark.conf.set(key, value) }
    try block
    finally before.foreach {
        case (key, Some(value)) => spark.conf.set(key, value)
        case (key, None)        => spark.conf.unset(key)
      }
  }

  /** The default differs by line. Where arithmetic raises on overflow, a sum is known to rise with a column. */
  protected def ansi[T](on: Boolean)(block: => T): T =
    withConf(SQLConf.ANSI_ENABLED.key -> on.toString)(block)

  protected def execution(df: DataFrame): QueryExecution =
    df.asInstanceOf[Dataset[_]].queryExecution

  protected def executedPlan(df: DataFrame): SparkPlan = execution(df).executedPlan

  /** The nodes of a class in the plan of a query, those of subqueries included. */
  protected def nodes[T <: SparkPlan: ClassTag](df: DataFrame): Seq[T] =
    collectWithSubqueries(executedPlan(df)) { case node: T => node }

  protected def rangeJoins(df: DataFrame): Seq[SortMergeRangeJoinExec] =
    collect(executedPlan(df)) { case join: SortMergeRangeJoinExec => join }

  protected def shuffledJoins(df: DataFrame): Seq[ShuffledRangeJoinExec] =
    collect(executedPlan(df)) { case join: ShuffledRangeJoinExec => join }

  protected def broadcastJoins(df: DataFrame): Seq[BroadcastRangeJoinExec] =
    collect(executedPlan(df)) { case join: BroadcastRangeJoinExec => join }

  /** The number of range joins, of any kind. */
  protected def plannedJoins(df: DataFrame): Int =
    rangeJoins(df).size + shuffledJoins(df).size + broadcastJoins(df).size

  protected def stockJoins(df: DataFrame): Seq[SortMergeJoinExec] =
    collect(executedPlan(df)) { case join: SortMergeJoinExec => join }

  /** The one element there has to be. */
  protected def only[T](elements: Seq[T]): T = {
    assert(elements.size == 1)
    elements.head
  }

  /** How many tasks the session runs. */
  protected def runningTasks: Int =
    spark.sparkContext.taskScheduler.asInstanceOf[
      TaskSchedulerImpl].runningTasksByExecutors.values.sum

  /** An error and what it was raised by: Spark 3.5 wraps what a task raises. */
  protected def causes(error: Throwable): Iterator[Throwable] = RangeJoinTest.causes(error)

  /** A test of what not every line of Spark has: where it is missing the test is ignored, and the log says so. */
  protected def testWhere(isThere: Boolean)(name: String, tags: Tag*)(body: => Unit): Unit =
    if (isThere) test(name, tags: _*)(body) else ignore(name, tags: _*)(body)

  /** `make check` leaves out what runs queries. */
  override def tags: Map[String, Set[String]] = {
    val others = super.tags
    testNames.map(name => name -> (others.getOrElse(name, Set.empty[String]) + Query)).toMap
  }

  /** The session serves every suite of the JVM, in any order: none finds the views of another. */
  override def run(testName: Option[String], args: Args): Status =
    try super.run(testName, args)
    finally spark.sessionState.catalog.clearTempTables()

  /** How joins are planned: each test is one for each of these, of which all but the first have a part that is quick. */
  protected def forms: Seq[PlanForm] = Seq(PlanForm.Merged)

  /** That of the test. */
  protected var form: PlanForm = PlanForm.Merged

  /** Whether tests say the same of many types or queries, so that each has the first form and one other, in turn. */
  protected def hasFormsInTurn: Boolean = false

  private var turns = 0

  /** The first form, and another one for the next test. */
  protected def formsInTurn: Seq[PlanForm] =
    if (forms.size < 3 || EveryEngine) forms
    else {
      turns += 1
      Seq(forms.head, forms.tail(turns % forms.tail.size))
    }

  override protected def test(name: String, tags: Tag*)(body: => Any)(implicit
      pos: Position): Unit =
    testIn(if (hasFormsInTurn) formsInTurn else forms)(name, tags: _*)(body)

  /** A test of some forms alone. */
  protected def testIn(some: Seq[PlanForm])(name: String, tags: Tag*)(body: => Any)(implicit
      pos: Position): Unit = for (one <- some) {
    val (fullName, more) =
      if (one == forms.head) (name, Nil)
      else (s"$name: $one", slowButOneIn(6)(s"$name $one"))
    super.test(fullName, tags ++ more: _*)(planned(one)(body))
  }

  private def planned(as: PlanForm)(body: => Any): Any = {
    val before = spark.experimental.extraOptimizations
    form = as
    spark.experimental.extraOptimizations = before ++ as.rule
    try withConf(as.settings: _*)(body)
    finally spark.experimental.extraOptimizations = before
  }

  private var cases = 0
  private var testName = ""

  override protected def withFixture(test: NoArgTest): Outcome = {
    testName = test.name
    cases = 0
    super.withFixture(test)
  }

  /** Whether each case of a suite has one engine: it is of what is planned, or has many cases. */
  protected def hasOneEngine: Boolean = false

  /**
   * Both engines, one of them with adaptive execution: the other one for the next case of a test. The
   * second has one task. Of a form that repeats the first one, one engine: there are many cases.
   */
  protected def bothEngines: Seq[Settings] = if (hasOneEngine || form != forms.head) nextEngine
  else {
    cases += 1
    if (EveryEngine) Engines
    else if ((testName.hashCode + cases) % 2 == 0) Seq(Engines(0), Engines(3) :+ OneTask)
    else Seq(Engines(2), Engines(1) :+ OneTask)
  }

  /**
   * One engine, always the same for the same case: there are many, and each takes one path. A third
   * of the cases has several tasks, some of them without rows.
   */
  protected def oneOf(test: String): Seq[Settings] = {
    val engines =
      if (EveryEngine) Engines
      else {
        val hash = Math.floorMod(test.hashCode, 3 * Engines.size)
        val engine = Engines(hash % Engines.size)
        Seq(if (hash / Engines.size == 0) engine else engine :+ OneTask)
      }
    engines.map(_ ++ form.way(test))
  }

  /** Older lines allow no LIMIT in a subquery that is correlated by a range. */
  protected val hasCorrelatedLimits: Boolean = SPARK_VERSION >= "4.0"

  /** One engine, another one for the next case of a test. */
  protected def nextEngine: Seq[Settings] = {
    cases += 1
    oneOf(s"$testName $cases")
  }

  /**
   * One in `n` of many cases, always the same; `make test-engines` has all. Where these are combinations, `n` has no
   * factor in common with how many choices there are of each kind.
   */
  protected def oneIn[T](n: Int)(all: Seq[T]): Seq[T] =
    if (EveryEngine) all
    else {
      cases += 1
      all.drop(Math.floorMod(s"$testName $cases".hashCode, n)).grouped(n).map(_.head).toSeq
    }

  /** Rows in an order that does not depend on the plan. */
  protected def rows(df: DataFrame): Seq[String] = df.collect().map(show).sorted.toSeq

  /** The rows, or the class of the error. */
  protected def outcome(df: => DataFrame): Either[String, Seq[String]] =
    try Right(rows(df))
    catch { case e: SparkThrowable => Left(ErrorCondition.of(e)) }

  private def show(value: Any): String = value match {
    case row: Row              => row.toSeq.map(show).mkString("|")
    case bytes: Array[Byte]    => bytes.mkString("[", " ", "]")
    case map: Map[_, _]        => map.toSeq.map(show).sorted.mkString("{", ", ", "}")
    case (key, value)          => s"${show(key)}: ${show(value)}"
    case elements: Iterable[_] => elements.map(show).mkString("(", ", ", ")")
    case other                 => String.valueOf(other)
  }

  /** The rows that stock Spark finds; a query that is given as a plan keeps the settings it was planned with. */
  protected def rowsOfStock(query: => DataFrame): Seq[String] = withConf(Oracle: _*)(rows(query))

  /**
   * Runs a query as a range join under both engines and compares its rows with those of stock
   * Spark in the same session.
   *
   * @param joins the number of range joins in its plan
   * @param engines the settings to run it under
   * @return the number of rows
   */
  protected def checkAgainstStock(
      query: => DataFrame,
      joins: Int = 1,
      engines: Seq[Settings] = bothEngines
  ): Int = rowsAsStock(query, joins, engines).size

  /** As `checkAgainstStock`; returns the rows. */
  protected def rowsAsStock(
      query: => DataFrame,
      joins: Int = 1,
      engines: Seq[Settings] = bothEngines
  ): Seq[String] = {
    val expected = withConf(Oracle: _*) {
      val stock = query
      assert(rangeJoins(stock).isEmpty)
      rows(stock)
    }
    checkRangeJoins(query, expected, joins, engines)
    expected
  }

  /** Checks that a query has these rows as a range join. */
  protected def checkRangeJoins(
      query: => DataFrame,
      expected: Seq[String],
      joins: Int,
      engines: Seq[Settings]): Unit =
    for (settings <- engines) withConf(settings: _*) {
      val df = query
      // Before it runs: adaptive execution drops a join of which a side turns out to be empty.
      assertPlanned(df, joins, settings)
      val actual = rows(df)
      assertSameRows(actual, expected, s"under $settings\n${executedPlan(df)}")
    }

  /** Checks that a query has the rows that stock Spark finds in it. */
  protected def assertAsStock(df: DataFrame, query: => DataFrame): Unit =
    assertSameRows(rows(df), rowsOfStock(query), s"${executedPlan(df)}")

  protected def assertPlanned(df: DataFrame, joins: Int, settings: Settings): Unit =
    if (plannedJoins(df) != joins) fail(s"under $settings:\n${executedPlan(df)}")

  protected def assertSameRows(actual: Seq[String], expected: Seq[String], clue: => String): Unit =
    if (actual != expected) {
      Assertions.fail(
        s"""${actual.size} rows, expected ${expected.size}
           |missing:    ${expected.diff(actual).take(10).mkString("\n            ")}
           |unexpected: ${actual.diff(expected).take(10).mkString("\n            ")}
           |$clue""".stripMargin
      )
    }
}

object RangeJoinTest {

  def causes(error: Throwable): Iterator[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null)

  /** Keys of the configuration and their values. */
  type Settings = Seq[(String, String)]

  /** The tag of tests with a session. */
  val Query = "rangejoin.Query"

  /** Whether every case runs under every engine: `make test-engines`. */
  val EveryEngine: Boolean = sys.env.contains("RANGEJOIN_EVERY_ENGINE")

  private val Generated = Seq(
    SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> "true",
    SQLConf.CODEGEN_FACTORY_MODE.key -> "CODEGEN_ONLY"
  )
  private val Interpreted = Seq(
    SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> "false",
    SQLConf.CODEGEN_FACTORY_MODE.key -> "NO_CODEGEN"
  )

  /** A task of a small query is mostly the reading of its plan. */
  val OneTask: (String, String) = SQLConf.SHUFFLE_PARTITIONS.key -> "1"

  /**
   * Rows that are written in a query are read by one task. Not for `range`: that of one task is not
   * shuffled, so that a join of two would be another plan.
   */
  val OneReader: (String, String) = SQLConf.LEAF_NODE_DEFAULT_PARALLELISM.key -> "1"

  /**
   * Stock Spark, in its cheapest way: the rows that are expected do not depend on it. What occurs twice in a
   * condition is not computed before it: nested loops would raise for pairs that the condition refuses.
   */
  lazy val Oracle: Settings = Engines(1) ++ Seq(
    OneTask,
    OneReader,
    SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
    SQLConf.SUBEXPRESSION_ELIMINATION_ENABLED.key -> "false",
    RangeJoinConf.Enabled.key -> "false"
  )

  /** Both engines, one with and one without adaptive execution: for what is many queries. */
  lazy val TwoEngines: Seq[Settings] = Seq(Engines.head, Engines.last)

  /** Settings by which a window has this many rows in memory, and in a block on disk. */
  def spillingFrom(rows: Int): Settings = Seq(
    SQLConf.SORT_MERGE_JOIN_EXEC_BUFFER_IN_MEMORY_THRESHOLD.key -> rows.toString,
    SQLConf.SORT_MERGE_JOIN_EXEC_BUFFER_SPILL_THRESHOLD.key -> rows.toString
  )

  /** Both engines, each with and without adaptive execution. */
  val Engines: Seq[Settings] = for {
    engine <- Seq(Generated, Interpreted)
    adaptive <- Seq("true", "false")
  } yield engine :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive)

  /** Both engines with adaptive execution, for what is done under it alone. */
  val AdaptiveEngines: Seq[Settings] =
    Engines.filter(_.contains(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true"))
}
