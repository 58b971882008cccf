// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Repartition}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession
import org.apache.spark.{SparkConf, SparkContext}

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
    // Plans are checked after each logical rule, as in Spark's own tests, if that is asked for: it takes as long as the tests.
    SQLConf.PLAN_CHANGE_VALIDATION.key -> sys.env.getOrElse("RANGEJOIN_VALIDATION", "false"),
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
  // What a user interface would show of jobs and tasks: nobody looks at it.
  statusStore.listener.foreach(listenerBus.removeListener(_))

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
