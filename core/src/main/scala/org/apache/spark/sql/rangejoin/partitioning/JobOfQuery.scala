// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.duration.Duration
import scala.reflect.ClassTag

import org.apache.spark.FutureAction
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler._
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.rangejoin.conf.JobCancelled
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession
import org.apache.spark.util.ThreadUtils

/**
 * A job that a query waits for, and that ends when the query ends. It has the query's local properties, so what cancels
 * the query's jobs cancels it. Spark misses two cases, which are handled here. When another stage fails, adaptive
 * execution first waits until this job has ended (4.0 on), or checks no stage in the meantime (3.5). And a job stays
 * running when the thread that waits for it is interrupted.
 */
private[rangejoin] object JobOfQuery {

  /** The result of each partition. */
  def run[T, U: ClassTag](rdd: RDD[T], result: Iterator[T] => U): Array[U] = {
    val sc = rdd.sparkContext
    val end = Option(sc.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
      .map(execution => new EndOfQuery(execution.toLong))
    // Before the job is submitted: the query may end meanwhile.
    end.foreach(sc.addSparkListener)
    try {
      val results = new Array[U](rdd.getNumPartitions)
      val job = sc.submitJob(
        rdd,
        result,
        rdd.partitions.indices,
        (partition: Int, result: U) => results(partition) = result,
        ())
      try {
        end.foreach(_.cancels(job))
        ThreadUtils.awaitReady(job, Duration.Inf)
        end.flatMap(_.error).foreach(throw _)
        job.value.get.get
        results
      } finally if (!job.isCompleted) job.cancel()
    } finally end.foreach(sc.removeSparkListener)
  }

  /**
   * Cancels a job when its query ends or another job of the query fails. A cancelled job does not count as failed:
   * Spark cancels stages that it no longer needs.
   */
  private class EndOfQuery(execution: Long) extends SparkListener {
    private val store = SparkSession.getActiveSession.map(_.sharedState.statusStore)
    private var job: Option[FutureAction[_]] = None
    private var hasEnded = false

    /** What the query fails with. */
    @volatile var error: Option[Exception] = None

    /** Has it cancel this job; at once if the query has ended. */
    def cancels(submitted: FutureAction[_]): Unit = synchronized {
      job = Some(submitted)
      if (hasEnded) submitted.cancel()
    }

    private def endJob(): Unit = synchronized {
      hasEnded = true
      job.foreach(_.cancel())
    }

    override def onJobEnd(end: SparkListenerJobEnd): Unit = end.jobResult match {
      case JobFailed(JobCancelled())                                 =>
      case JobFailed(e) if !isJob(end.jobId) && isOfQuery(end.jobId) =>
        error = Some(e)
        endJob()
      case _ =>
    }

    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case end: SparkListenerSQLExecutionEnd if end.executionId == execution => endJob()
      case _                                                                 =>
    }

    private def isJob(id: Int): Boolean = synchronized(job.exists(_.jobIds.contains(id)))

    private def isOfQuery(id: Int): Boolean =
      store.flatMap(_.execution(execution)).exists(_.jobs.contains(id))
  }
}
