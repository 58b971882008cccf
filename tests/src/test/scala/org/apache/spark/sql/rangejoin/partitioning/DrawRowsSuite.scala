// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit.MILLISECONDS

import org.apache.spark.SparkException
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest

/** The node that draws rows: what it draws from a plan, and what it evaluates for that. */
class DrawRowsSuite extends RangeJoinTest {

  private def sql(text: String): DataFrame = spark.sql(text)

  /** By partition, the rows that were counted, and the first column of those that were drawn. */
  private def drawn(df: => DataFrame, rows: Int, required: Seq[Int]): Seq[(Long, Seq[Long])] =
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      val plan = executedPlan(df)
      DrawRowsExec.drawn(plan, rows, required).collect().toSeq.map { bytes =>
        val (count, found) = Reservoir.read(bytes, plan.output.size)
        (count, found.toSeq.map(_.getLong(0)))
      }
    }

  private def generated(on: Boolean): Seq[(String, String)] = Seq(
    SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> on.toString,
    SQLConf.CODEGEN_FACTORY_MODE.key -> (if (on) "CODEGEN_ONLY" else "NO_CODEGEN"))

  /** What generated code draws, which has to be what interpreted expressions do. */
  private def drawnBoth(df: => DataFrame, rows: Int, required: Seq[Int]): Seq[(Long, Seq[Long])] = {
    val found = withConf(generated(true): _*)(drawn(df, rows, required))
    assert(withConf(generated(false): _*)(drawn(df, rows, required)) == found)
    found
  }

  /** The rows of all partitions. */
  private def all(found: Seq[(Long, Seq[Long])]): Seq[Long] = found.flatMap(_._2)

  test("within the code that is generated for the plan, or above it") {
    def top(df: DataFrame): SparkPlan =
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false")(
        DrawRowsExec.above(executedPlan(df), 10, Seq(0)))
    withConf(generated(true): _*) {
      assert(top(sql("SELECT id + 1 FROM range(9)")).asInstanceOf[WholeStageCodegenExec]
        .child.isInstanceOf[DrawRowsExec])
    }
    withConf(generated(false): _*)(
      assert(top(sql("SELECT id + 1 FROM range(9)")).isInstanceOf[DrawRowsExec]))
  }

  test("all rows of small partitions, some rows of large ones, and partitions without rows") {
    // Partitions of 0, 100, 200, ... rows.
    def uneven = sql("SELECT id FROM range(0, 3000, 1, 3) WHERE id % 1000 < 100 * (id DIV 1000)")
    val some = drawnBoth(uneven, 180, Seq(0))
    assert(some.map(_._1) == Seq(0, 100, 200))
    assert(some.map(_._2.size) == Seq(0, 100, 120))
    for ((_, found) <- some) assert(found.distinct.size == found.size)
    assert(some(1)._2 == (1000L until 1100L))
    assert(all(some).forall(id => id % 1000 < 100 * (id / 1000)))
    assert(all(drawnBoth(uneven, 3000, Seq(0))).size == 300)
    assert(drawnBoth(
      sql("SELECT id FROM range(0, 10, 1, 5) WHERE id > 99"),
      5,
      Seq(0)).map(_._1).sum == 0)
  }

  test("rows with a NULL in a required column are neither drawn nor counted") {
    def rows =
      sql("""SELECT id, IF(id % 3 = 0, NULL, id) AS a, IF(id % 5 = 0, NULL, string(id)) AS b
      FROM range(0, 3000, 1, 2)""")
    for ((required, counts) <- Seq[(Seq[Int], Long => Boolean)](
        Nil -> (_ => true),
        Seq(0) -> (_ => true),
        Seq(1) -> (_ % 3 != 0),
        Seq(2) -> (_ % 5 != 0),
        Seq(2, 1) -> (id => id % 3 != 0 && id % 5 != 0));
      size <- Seq(100, 5000)) {
      val found = drawnBoth(rows, size, required)
      assert(found.map(_._1).sum == (0L until 3000L).count(counts))
      assert(all(found).forall(counts) && all(found).size == math.min(
        2L * size,
        found.map(_._1).sum))
    }
  }

  test("strings, some of them too wide, from files and from a shuffle") {
    val path = java.nio.file.Files.createTempDirectory("draw").toString
    sql("SELECT id, repeat('x', IF(id % 2 = 0, 5000, 3)) AS s FROM range(0, 2000, 1, 2)")
      .write.mode("overwrite").parquet(path)
    def files = spark.read.parquet(path)
    for (df <- Seq[() => DataFrame](
        () => files,
        () => files.filter("id > 10").selectExpr("id", "concat(s, 'y') AS s"),
        () => files.repartition(3, col("id")).selectExpr("id", "s"))) {
      val found = drawnBoth(df(), 200, Seq(1))
      assert(found.map(_._1).sum == df().count())
      assert(all(found).size == found.size * Reservoir.sizeFor(200, found.size))
      assert(all(found).count(_ % 2 == 1) > 120 && all(found).count(_ % 2 == 0) > 120)
      val arrays = drawnBoth(df().selectExpr("id", "array(s) AS s"), 200, Seq(1))
      assert(arrays.map(_._1) == found.map(_._1))
      assert(all(arrays) == all(found).filter(_ % 2 == 1))
    }
  }

  test("what is not drawn is not evaluated") {
    val count = spark.sparkContext.longAccumulator
    val counting = udf { (id: Long) => count.add(1); id }.asNonNullable()
    def rows =
      spark.range(0, 100000, 1, 2).filter("id % 10 <> 3").select(counting(col("id")).as("v"))
    val found = withConf(generated(true): _*)(drawn(rows, 100, Seq(0)))
    assert(all(found).size == 200 && found.map(_._1).sum == 90000)
    // For each of two partitions 100 * (1 + log(450)).
    assert(count.value > 1200 && count.value < 1700, count.value)
  }

  test("the same rows when they are drawn again") {
    def rows = sql("SELECT id FROM range(0, 10000, 1, 4)")
    assert(drawnBoth(rows, 50, Seq(0)) == drawnBoth(rows, 50, Seq(0)))
  }

  test("tasks end when the draw is cancelled") {
    val sc = spark.sparkContext
    for (on <- Seq(true, false)) {
      val ended = new CountDownLatch(1)
      // Again and again: what runs at first may be left of the test before.
      val cancelling = new Thread(() => while (!ended.await(50, MILLISECONDS)) sc.cancelAllJobs())
      cancelling.start()
      val endless = sql(s"SELECT id FROM range(0, ${1L << 60}, 1, 2)")
      try intercept[SparkException](withConf(generated(on): _*)(drawn(endless, 10, Seq(0))))
      finally ended.countDown()
      cancelling.join()
      for (_ <- 1 to 3000 if runningTasks > 0) Thread.sleep(10)
      assert(runningTasks == 0)
    }
  }
}
