// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.guard

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.internal.SQLConf

/** Ten queries that together use every rule, over two small tables. */
object GuardedQueries {
  type Settings = Seq[(String, String)]

  private val Band = "l.k = r.k AND r.t BETWEEN l.t - 2 AND l.t + 2"
  private val NoBroadcast = SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1"
  private val Broadcast = SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"

  val Views: Seq[String] = Seq(
    "CREATE OR REPLACE TEMP VIEW l AS SELECT id, id % 3 AS k, id * 7 % 20 AS t FROM range(0, 40, 1, 2)",
    "CREATE OR REPLACE TEMP VIEW r AS SELECT id, id % 4 AS k, id * 5 % 20 AS t, " +
      "id * 5 % 20 + id % 5 AS u FROM range(0, 30, 1, 2)"
  )

  private val Lateral =
    s"SELECT l.id, m.id FROM l, LATERAL (SELECT r.id FROM r WHERE r.k = l.k AND r.t <= l.t " +
      "ORDER BY r.t DESC, r.id LIMIT 1) m"

  val All: Seq[(Settings, String)] = Seq(
    Seq(NoBroadcast) -> s"SELECT l.id, r.id FROM l JOIN r ON $Band",
    Seq(Broadcast) -> s"SELECT l.id, r.id FROM l LEFT JOIN r ON $Band AND l.id <> r.id",
    Seq(NoBroadcast) -> s"SELECT /*+ SHUFFLE_HASH(r) */ l.id, r.id FROM l JOIN r ON $Band",
    Seq(NoBroadcast) -> "SELECT /*+ RANGE_JOIN(r, 5) */ l.id, r.id FROM l JOIN r ON l.t BETWEEN r.t AND r.u",
    Seq(
      Broadcast) -> "SELECT l.id, r.id FROM l JOIN r ON l.t < r.u AND r.t < l.t + 3 WHERE l.t < 12",
    Seq(
      NoBroadcast) -> s"SELECT l.id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE $Band) OR l.id = 3",
    Seq(NoBroadcast) -> (s"SELECT * FROM (SELECT l.id, r.id AS rid, row_number() OVER (PARTITION BY l.id " +
      s"ORDER BY r.t DESC, r.id) AS n FROM l JOIN r ON l.k = r.k AND r.t <= l.t) WHERE n = 1"),
    Seq(
      NoBroadcast) -> s"SELECT l.id, count(r.id), sum(r.t) FROM l LEFT JOIN r ON $Band GROUP BY l.id",
    Seq(
      NoBroadcast) -> s"SELECT l.id, (SELECT sum(r.t) FROM r WHERE r.k = l.k AND r.t <= l.t) FROM l",
    Seq(Broadcast) -> (if (SPARK_VERSION >= "4.0") Lateral
                       else s"SELECT l.id, r.id FROM l FULL JOIN r ON $Band")
  )
}
