// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.rangejoin.RangeJoinTest

/** Tables of a few keys, for what is made of the matches of a row. */
trait TiedTables extends RangeJoinTest {

  /**
   * Tables `l` and `r` with a key `k` and a time `t`, some of them NULL, and ties among times of the left side.
   *
   * @param ofRight the other columns of `r`
   */
  protected def tiedTables(left: Int, right: Int)(ofRight: String*): Unit = {
    spark.range(left).selectExpr(
      "id",
      "CASE WHEN id % 31 = 7 THEN NULL ELSE id % 4 END AS k",
      "CASE WHEN id % 23 = 5 THEN NULL ELSE pmod(xxhash64(id div 2), 100) END AS t",
      "pmod(hash(id), 5) AS v"
    ).createOrReplaceTempView("l")
    spark.range(right).selectExpr(
      Seq(
        "id",
        "CASE WHEN id % 29 = 3 THEN NULL ELSE pmod(id, 3) END AS k",
        "CASE WHEN id % 37 = 1 THEN NULL ELSE id * 7 % 101 END AS t",
        "repeat('x', CAST(id % 40 AS INT)) AS s"
      ) ++ ofRight: _*
    ).createOrReplaceTempView("r")
  }
}
