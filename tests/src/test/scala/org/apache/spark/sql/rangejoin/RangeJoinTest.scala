// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import java.util.concurrent.ConcurrentHashMap

import scala.reflect.ClassTag

import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Repartition}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.joins.SortMergeJoinExec
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.shims.ClassicSession.{Dataset, SparkSession}
import org.apache.spark.sql.rangejoin.shuffled.ShuffledRangeJoinExec
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.{SPARK_VERSION, SparkConf, SparkContext, SparkThrowable}

import org.scalactic.source.Position
import org.scalatest.{Args, Assertions, Outcome, Status, Tag}

/** One local session with the extension, and Spark's check for leaked memory on. */
object TestSession {
  lazy val spark: SparkSession = {
    Thread.currentThread.setContextClassLoader(
      new MissingClasses(Thread.currentThread.getContextClassLoader))
    val settings = Settings ++ ofMemory ++ ofMode
    // A session takes the context that there is.
    new TrustingContext(new SparkConf(false).setAll(settings))
    val session = builder(settings).getOrCreate()
    session.experimental.extraOptimizations = Seq(OnePartition)
    session
  }

  /** Of a session with these settings, too, and a context of its own. */
  def builder(more: RangeJoinTest.Settings): SparkSession.Builder =
    (Settings ++ more).foldLeft(SparkSession.builder()) { case (builder, (key, value)) =>
      builder.config(key, value)
    }

  /** For any suite to be run with memory off the heap, by hand. */
  private def ofMemory: RangeJoinTest.Settings =
    if (sys.env.contains("RANGEJOIN_OFF_HEAP")) {
      Seq("spark.memory.offHeap.enabled" -> "true", "spark.memory.offHeap.size" -> "512m")
    } else Nil

  /** And in the other mode than the default of the line, where a test does not choose it. */
  private def ofMode: RangeJoinTest.Settings =
    sys.env.get("RANGEJOIN_ANSI").filter(_.nonEmpty).map(SQLConf.ANSI_ENABLED.key -> _).toSeq

  private val Settings: RangeJoinTest.Settings = Seq(
    "spark.master" -> "local[2]",
    "spark.app.name" -> "range join tests",
    "spark.ui.enabled" -> "false",
    "spark.sql.extensions" -> classOf[RangeJoinExtensions].getName,
    "spark.sql.shuffle.partitions" -> "3",
    "spark.sql.warehouse.dir" -> (System.getProperty("java.io.tmpdir") + "/warehouse"),
    "spark.unsafe.exceptionOnMemoryLeak" -> "true",
    "spark.memory.debugFill" -> "true",
    // Generated code that does not compile is an error, and not a reason to interpret.
    SQLConf.CODEGEN_FALLBACK.key -> "false",
    // Spark's tests check its own logical rules after each of them, which takes as long as the tests.
    SQLConf.PLAN_CHANGE_VALIDATION.key -> "false",
    // Else tasks ask the driver for each class that a compiler guesses at, and does not find.
    "spark.sql.artifact.isolation.enabled" -> "false",
    // Collations for which blanks at the end say nothing: 4.0 has them behind a setting.
    "spark.sql.collation.trim.enabled" -> "true",
    // The projections of small tables are few, and the same in many queries.
    StaticSQLConf.CODEGEN_CACHE_MAX_ENTRIES.key -> "2000",
    // A buffer of the default size, 4 MB, is filled with zeros for each broadcast, of which a job has two or more.
    "spark.broadcast.blockSize" -> "64k",
    // A sort takes a page at once, and every page is filled: small ones make small joins fast.
    "spark.buffer.pageSize" -> "1m",
    SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
    // Both sides of a small test would otherwise be read as one row, or joined at planning time.
    SQLConf.OPTIMIZER_EXCLUDED_RULES.key ->
      "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
  )
}

/**
 * Takes closures as they are. To look through their classes, each time anew, was a tenth of the processor time of
 * the tests; a task that cannot be serialized is found all the same. Tests in Python and on a cluster, and
 * Spark's own suites, have Spark's context.
 */
private class TrustingContext(conf: SparkConf) extends SparkContext(conf) {
  override private[spark] def clean[F <: AnyRef](f: F, checkSerializable: Boolean): F = f
}

/**
 * Remembers which classes there are not: the compiler of generated code guesses at names of classes, and to find that
 * there is none of a name takes a look into every jar.
 */
private class MissingClasses(parent: ClassLoader) extends ClassLoader(parent) {
  private[this] val missing = ConcurrentHashMap.newKeySet[String]()

  override protected def loadClass(name: String, resolve: Boolean): Class[_] = {
    if (missing.contains(name)) throw new ClassNotFoundException(name)
    try getParent.loadClass(name)
    catch {
      case notFound: ClassNotFoundException =>
        missing.add(name)
        throw notFound
    }
  }
}

/**
 * With [[RangeJoinTest.OneReader]] and [[RangeJoinTest.OneTask]], Spark knows of rows that are written
 * in a query that they are one partition, so that a join of them has no shuffle: a query of one stage
 * costs a half of what one of three does.
 */
object OnePartition extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (Seq(RangeJoinTest.OneReader, RangeJoinTest.OneTask).forall { case (key, value) =>
        conf.contains(key) && conf.getConfString(key) == value
      }) {
      plan.transformDown {
        case known @ Repartition(_, _, _: LocalRelation) => known
        case other                                       => other.mapChildren {
            case rows: LocalRelation if !other.isInstanceOf[Repartition] =>
              Repartition(1, shuffle = false, rows)
            case child => child
          }
      }
    } else plan
}

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

  override protected def test(name: String, tags: Tag*)(body: => Any)(implicit
      pos: Position): Unit = testIn(forms)(name, tags: _*)(body)

  /** A test of some forms alone. */
  protected def testIn(some: Seq[PlanForm])(name: String, tags: Tag*)(body: => Any)(implicit
      pos: Position): Unit = for (one <- some) {
    val (fullName, more) =
      if (one == forms.head) (name, Nil)
      else (s"$name: $one", slowButOneIn(3)(s"$name $one"))
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

  /**
   * Both engines, one of them with adaptive execution: the other one for the next case of a test. The
   * second has one task. Of a form that repeats the first one, one engine: there are many cases.
   */
  protected def bothEngines: Seq[Settings] = if (form != forms.head) nextEngine
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
    assertSameRows(rows(df), withConf(Flag -> "false")(rows(query)), s"${executedPlan(df)}")

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
