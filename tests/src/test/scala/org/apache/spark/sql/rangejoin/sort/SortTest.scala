// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import org.apache.spark.SparkEnv
import org.apache.spark.internal.config
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.rangejoin.RangeJoinTest

/** What the suites share that hold a sort against Spark's. */
trait SortTest extends RangeJoinTest {

  /** The sort columns of each partition in the order they come out, and all rows in any order. */
  protected def sorted(plan: SparkPlan, columns: Int): (Seq[String], Seq[String]) = {
    val types = plan.output.map(_.dataType)
    val rows = plan.execute().mapPartitionsWithIndex { (partition, rows) =>
      rows.map { row =>
        val values = row.toSeq(types).map {
          case bytes: Array[Byte] => bytes.mkString("[", " ", "]")
          // Equal to each other in Spark's order.
          case -0.0  => "0.0"
          case other => String.valueOf(other)
        }
        (values.take(columns).mkString(s"$partition: ", "|", ""), values.mkString("|"))
      }
    }.collect()
    (rows.map(_._1).toSeq, rows.map(_._2).sorted.toSeq)
  }

  /** Runs a block with a setting of the process, which Spark's sorter reads. */
  protected def spillingAfter(rows: Int)(block: => Unit): Unit = {
    val conf = SparkEnv.get.conf
    conf.set(config.SHUFFLE_SPILL_NUM_ELEMENTS_FORCE_SPILL_THRESHOLD, rows)
    try block
    finally conf.remove(config.SHUFFLE_SPILL_NUM_ELEMENTS_FORCE_SPILL_THRESHOLD)
  }
}
