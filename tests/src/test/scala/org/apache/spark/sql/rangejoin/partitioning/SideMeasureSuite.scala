// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.duration.{Duration, DurationInt}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.rangejoin.RangeJoinTest

import org.scalatest.tagobjects.Slow

class SideMeasureSuite extends RangeJoinTest {

  test("a measure reads no more of a partition than it needs, and some partitions first") {
    val read = spark.sparkContext.longAccumulator
    def rows(partitions: Int, each: Int) =
      spark.sparkContext.parallelize(0 until partitions, partitions).flatMap { _ =>
        Iterator.range(0, each).map { i => read.add(1); InternalRow(i.toLong): InternalRow }
      }
    def measured(partitions: Int, each: Int, limit: Long): (Boolean, Long) = {
      read.reset()
      val measure = new SideMeasure(limit)
      assert(measure.isSmall.isEmpty)
      measure.ask(rows(partitions, each), Duration.Inf)
      measure.ask(rows(partitions, 1000000), Duration.Inf)
      (measure.isSmall.get, read.value)
    }
    // A row of one column that is not in Spark's own format counts as 16 bytes.
    assert(measured(10, 10, 1600) == ((true, 100)))
    assert(measured(10, 10, 1599) == ((false, 100)))
    assert(measured(10, 1000, 159) == ((false, 2 * 10)))
    assert(measured(2, 0, 10) == ((true, 0)))
    val none = new SideMeasure(10)
    none.ask(spark.sparkContext.emptyRDD[InternalRow], Duration.Inf)
    assert(none.isSmall.contains(true))
  }

  test("a side that takes too long to measure is taken for large, and its job is ended", Slow) {
    val slow = spark.sparkContext.parallelize(0 until 2, 2).map { i =>
      for (_ <- 1 to 600) {
        if (org.apache.spark.TaskContext.get().isInterrupted()) throw new InterruptedException
        Thread.sleep(100)
      }
      InternalRow(i.toLong): InternalRow
    }
    val measure = new SideMeasure(1000)
    measure.ask(slow, 300.millis)
    assert(measure.isSmall.contains(false))
    for (_ <- 1 to 100 if runningTasks > 0) Thread.sleep(100)
    assert(runningTasks == 0)
    // Each of the two jobs takes less time, but not both.
    val slowly = spark.sparkContext.parallelize(0 until 3, 3).map { i =>
      Thread.sleep(1500)
      InternalRow(i.toLong): InternalRow
    }
    val inAll = new SideMeasure(1000)
    inAll.ask(slowly, 2500.millis)
    assert(inAll.isSmall.contains(false))
    assert(ProbeExec.patience(300) == 150.seconds)
    assert(!ProbeExec.patience(-1).isFinite)
  }
}
