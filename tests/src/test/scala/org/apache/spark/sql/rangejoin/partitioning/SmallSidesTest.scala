// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.JobsTest
import org.apache.spark.sql.rangejoin.conf.InternalConf

/** For tests of joins by buckets of which a side may turn out to be small, and of the jobs that find out. */
trait SmallSidesTest extends RangePartitioningTest with JobsTest {

  protected val Band = "r.p BETWEEN l.p - 4 AND l.p + 4"

  /**
   * What Spark may broadcast, and below which a join is not worth partitioning: 1,000 bytes are 30
   * rows.
   */
  protected val Sizes = Seq(
    SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
    SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "1000",
    InternalConf.RangePartitioningThreshold.key -> "1000"
  )

  protected def views(rows: Int = 500): Unit =
    for ((name, seed) <- Seq("l" -> 3, "r" -> 5)) {
      // Ids are not known to be in order, or aggregates by them would need no shuffle.
      spark.range(1, rows + 1L, 1, 4).selectExpr(
        "pmod(id, 1000) AS id",
        "int(id % 6) AS g",
        s"pmod(hash(id, $seed), 1000) AS p"
      )
        .createOrReplaceTempView(name)
    }

  protected def sql(text: String): DataFrame = spark.sql(text)
}
