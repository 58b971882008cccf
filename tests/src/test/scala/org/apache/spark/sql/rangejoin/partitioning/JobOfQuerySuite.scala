// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.execution.SQLExecution.EXECUTION_ID_KEY
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.{Partition, SparkContext, TaskContext}

/** A job that a query waits for ends with the query. */
class JobOfQuerySuite extends RangeJoinTest {
  import JobOfQuerySuite._

  test("a job is cancelled whose query ends before it has been submitted") {
    val sc = spark.sparkContext
    sc.setLocalProperty(EXECUTION_ID_KEY, Execution.toString)
    try {
      val error = intercept[Exception](JobOfQuery.run(new Endless(sc), (_: Iterator[Unit]).size))
      assert(error.getMessage.contains("cancelled"), error)
    } finally sc.setLocalProperty(EXECUTION_ID_KEY, null)
  }
}

object JobOfQuerySuite {
  private val Execution = Long.MaxValue

  /** Its query ends while its partitions are found out; its task takes a minute, unless it is killed. */
  private class Endless(context: SparkContext) extends RDD[Unit](context, Nil) {
    override protected def getPartitions: Array[Partition] = {
      val bus = sparkContext.listenerBus
      bus.post(SparkListenerSQLExecutionEnd(Execution, 0L))
      bus.waitUntilEmpty()
      Array(new Partition {
        override def index: Int = 0
      })
    }

    override def compute(split: Partition, context: TaskContext): Iterator[Unit] =
      Iterator.fill(600) {
        Thread.sleep(100)
        context.killTaskIfInterrupted()
      }
  }
}
