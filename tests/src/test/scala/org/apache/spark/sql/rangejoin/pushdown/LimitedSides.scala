// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.rangejoin.RangeJoinTest

/** Tables whose limits are set to each other. */
trait LimitedSides extends RangeJoinTest {

  override protected def hasOneEngine: Boolean = true

  protected def views(): Unit = {
    def view(name: String, columns: String*): Unit = {
      val computed = spark.range(0, 400, 1, 2).selectExpr(columns: _*)
      // Columns, and no expressions that filters are pushed into.
      spark.createDataFrame(computed.rdd, computed.schema).createOrReplaceTempView(name)
    }
    view(
      "l",
      "id",
      "IF(id % 9 = 0, NULL, int(id % 5)) AS k",
      "IF(id % 31 = 0, NULL, pmod(hash(id), 500)) AS t",
      "decimal(pmod(hash(id), 500)) AS d")
    view(
      "r",
      "id",
      "IF(id % 8 = 0, NULL, int(id % 5)) AS k",
      "IF(id % 29 = 0, NULL, pmod(hash(id, 1), 500)) AS s",
      "pmod(hash(id, 1), 500) + int(id % 20) AS e")
    view(
      "o",
      "id",
      "IF(id % 8 = 0, NULL, int(id % 5)) AS k",
      "IF(id % 29 = 0, NULL, pmod(hash(id, 1), 500)) AS s",
      "IF(id % 7 = 0, NULL, pmod(hash(id, 1), 500) + int(id % 20)) AS e"
    )
  }
}
