/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */
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

  protected def views(): Unit =
    for ((name, seed) <- Seq("l" -> 3, "r" -> 5)) {
      // Ids are not known to be in order, or aggregates by them would need no shuffle.
      spark.range(1, 501, 1, 4).selectExpr(
        "pmod(id, 1000) AS id",
        "int(id % 6) AS g",
        s"pmod(hash(id, $seed), 1000) AS p"
      )
        .createOrReplaceTempView(name)
    }

  protected def sql(text: String): DataFrame = spark.sql(text)
}
