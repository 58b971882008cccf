// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.BandOfTables
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec

/** The range join among other operators: below, above, beside itself. */
class SurroundingsSuite extends BandOfTables {

  override protected def hasOneEngine: Boolean = true

  override protected def keys: Int = 6
  override protected def times: Int = 120
  override protected def reach: Int = 3

  test("the join fuses with its parents, and its children keep their own code generation") {
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      val df = l.join(r, band).selectExpr("l.id + r.id AS n").where("n % 2 = 0")
      val stages = executedPlan(df).collect { case stage: WholeStageCodegenExec => stage }
      val joinStage =
        stages.filter(s => fused(s.child).exists(_.isInstanceOf[SortMergeRangeJoinExec]))
      assert(joinStage.size == 1, executedPlan(df))
      assert(fused(joinStage.head.child).head.isInstanceOf[ProjectExec], executedPlan(df))
    }
    checkAgainstStock(l.join(r, band).selectExpr("l.id + r.id AS n").where("n % 2 = 0"))
  }

  test("cached sides and a cached join") {
    val cachedLeft = table(200, 1).cache()
    val cachedRight = table(150, 2).cache()
    try {
      checkAgainstStock(cachedLeft.as("l").join(cachedRight.as("r"), band))
      val cached = l.join(r, band).select("l.id", "r.t").cache()
      try {
        val expected = withConf(Flag -> "false")(
          rows(table(200, 1).as("l").join(r, band).select(col("l.id") + 0, col("r.t")))
        )
        assertSameRows(rows(cached), expected, "cached join")
        assertSameRows(rows(cached.where("id >= 0")), expected, "read again")
      } finally cached.unpersist()
    } finally {
      cachedLeft.unpersist()
      cachedRight.unpersist()
    }
  }

  test("files are named below joins that shuffle nothing") {
    val tables = Seq("left_files", "right_files")
    try {
      for (name <- tables; mode <- Seq("overwrite", "append"))
        table(60, name.length).coalesce(1).write.mode(mode).bucketBy(1, "k").saveAsTable(name)
      val named = for (name <- tables) yield spark.table(name).selectExpr(
        "*",
        "regexp_extract(input_file_name(), '[^/]*$', 0) AS file",
        "input_file_block_length() AS size")
      val Seq(files, others) = named: @unchecked
      assert(files.select("file").distinct().count() == 2)
      for (kind <- Seq("inner", "left_outer", "right_outer", "full_outer")) {
        def joined = files.as("l").join(others.as("r"), band, kind)
        val df = joined
        assert(!executedPlan(df).exists(_.isInstanceOf[Exchange]), executedPlan(df))
        checkAgainstStock(joined)
      }
    } finally tables.foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))
  }
}
