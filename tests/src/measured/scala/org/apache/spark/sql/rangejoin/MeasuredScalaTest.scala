// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.atomic.AtomicInteger

import com.sun.management.OperatingSystemMXBean
import sbt.testing._

/**
 * ScalaTest, which notes the processor time of each suite for the build to deal suites out by. The
 * time of the clock would say as much about the other JVM, and about whatever else the machine does.
 *
 * The time is that of the whole JVM while the suite runs, with its compiler and its collector; so
 * suites must not run beside each other in one. A run that no test took part in is not noted.
 */
final class MeasuredScalaTest extends Framework {
  private val scalaTest = new org.scalatest.tools.Framework

  override def name: String = scalaTest.name

  override def fingerprints: Array[Fingerprint] = scalaTest.fingerprints

  override def runner(
      args: Array[String],
      remoteArgs: Array[String],
      loader: ClassLoader): Runner =
    new MeasuredScalaTest.MeasuredRunner(scalaTest.runner(args, remoteArgs, loader))
}

private object MeasuredScalaTest {

  /** Where the build wants the times; None in its own JVM, which runs no suite. */
  private val folder: Option[Path] = Option(System.getProperty("rangejoin.cpu")).map(Paths.get(_))

  private def cpuSeconds: Double =
    ManagementFactory.getPlatformMXBean(classOf[OperatingSystemMXBean]).getProcessCpuTime / 1e9

  private final class MeasuredRunner(runner: Runner) extends Runner {
    override def tasks(defs: Array[TaskDef]): Array[Task] =
      runner.tasks(defs).map(new MeasuredTask(_))
    override def done(): String = runner.done()
    override def args(): Array[String] = runner.args()
    override def remoteArgs(): Array[String] = runner.remoteArgs()
  }

  private final class MeasuredTask(task: Task) extends Task {
    override def tags(): Array[String] = task.tags()
    override def taskDef(): TaskDef = task.taskDef()

    override def execute(handler: EventHandler, loggers: Array[Logger]): Array[Task] = {
      val tests = new AtomicInteger
      val counting: EventHandler = event => {
        tests.incrementAndGet()
        handler.handle(event)
      }
      val begin = cpuSeconds
      val nested = task.execute(counting, loggers)
      for (to <- folder if tests.get > 0) {
        Files.createDirectories(to)
        val took = f"${cpuSeconds - begin}%.2f"
        Files.write(to.resolve(taskDef().fullyQualifiedName), took.getBytes(UTF_8))
      }
      nested
    }
  }
}
