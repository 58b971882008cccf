// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.merge

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/** A side whose rows are of no use is not sorted, where stock does not sort it either. */
class EmptySideSuite extends RangeJoinTest {

  private def joined(joinType: String): DataFrame =
    spark.sql(s"SELECT * FROM l $joinType JOIN r ON l.k = r.k AND r.t BETWEEN l.t - 2 AND l.t + 2")

  /** How many rows the optimizer knows nothing of. */
  private def side(name: String, rows: Int): Unit =
    spark.range(1000).where(s"id % 7919 < $rows")
      .selectExpr(s"id AS id_$name", "id % 3 AS k", "id AS t").createOrReplaceTempView(name)

  /** The rows, and whether the left and the right side were sorted; a sort that has begun has taken memory. */
  private def rowsAndSorts(df: DataFrame): (Seq[String], Seq[Boolean]) = {
    val all = rows(df)
    val found = collect(executedPlan(df)) {
      case join: SortMergeRangeJoinExec                                 => join: SparkPlan
      case join: org.apache.spark.sql.execution.joins.SortMergeJoinExec => join
    }
    all -> only(found).children.map { child =>
      only(collect(child) { case sort @ (_: SortExec | _: RangeSortExec) => sort })
        .metrics("peakMemory").value > 0
    }
  }

  for (joinType <- Seq("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"))
    test(s"$joinType JOIN with a side of no rows") {
      for ((left, right) <- Seq((0, 1000), (1000, 0), (0, 0), (1000, 1000))) {
        side("l", left)
        side("r", right)
        withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
          val (expected, stock) = withConf(Flag -> "false")(rowsAndSorts(joined(joinType)))
          for (engine <- Seq("true", "false"))
            withConf(SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> engine) {
              val df = joined(joinType)
              assert(rangeJoins(df).size == 1)
              val (actual, ours) = rowsAndSorts(df)
              assertSameRows(actual, expected, s"${executedPlan(df)}")
              for ((sorted, byStock) <- ours.zip(stock)) {
                assert(!sorted || byStock, s"$left, $right: $ours, stock $stock")
              }
            }
        }
      }
    }
}
