// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.RowOrdering
import org.apache.spark.sql.execution.datasources.WriteFilesExec
import org.apache.spark.sql.execution.{CommandResultExec, SortExec, SparkPlan}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.sort.RangeSortExec
import org.apache.spark.sql.{DataFrame, Row}

/** Writes to tables that are bucketed, and sorted by several columns. */
class PreparedWritesSuite extends PreparedTablesTest {

  /** The nodes that sort what an INSERT has written. */
  private def sortsOf(insert: DataFrame): Seq[SparkPlan] = {
    val command = insert.queryExecution.executedPlan match {
      case result: CommandResultExec => result.commandPhysicalPlan
      case other                     => other
    }
    collect(command) { case write: WriteFilesExec => write }.flatMap { write =>
      collect(write) { case sort @ (_: SortExec | _: RangeSortExec) => sort }
    }
  }

  /** By bucket, the rows of each file as they come. */
  private def contents(table: String): Map[String, Seq[Seq[Row]]] =
    filesOf(table).groupBy(bucketOf).map { case (bucket, files) =>
      bucket -> files.map { file =>
        spark.read.schema(spark.table(table).schema).parquet(file.toString)
          .coalesce(1).collect().toSeq
      }
    }

  private def create(name: String, rows: DataFrame, sortedBy: String): Unit = {
    val columns = rows.schema.toDDL
    spark.sql(s"CREATE TABLE $name ($columns) USING parquet " +
      s"CLUSTERED BY (k) SORTED BY ($sortedBy) INTO 3 BUCKETS")
  }

  private def insert(name: String): DataFrame =
    spark.sql(s"INSERT INTO $name SELECT * FROM written")

  private def assertInOrder(table: String, columns: String*): Unit = {
    val types = columns.map(spark.table(table).schema(_).dataType)
    val order = RowOrdering.createNaturalAscendingOrdering(types)
    // As Catalyst has them: in the order of the file.
    for (file <- filesOf(table)) {
      val read = spark.read.schema(spark.table(table).schema).parquet(file.toString)
        .select(columns.map(col): _*)
      val rows = read.coalesce(1).queryExecution.executedPlan.executeCollect()
        .map(row => InternalRow.fromSeq(row.toSeq(types)))
      assert(rows.nonEmpty)
      for ((a, b) <- rows.zip(rows.drop(1)))
        assert(order.compare(a, b) <= 0, s"$file: $a before $b")
    }
  }

  for (partitions <- Seq(1, 3))
    test(s"files have stock's rows, in order: $partitions tasks") {
      withAdaptiveOnAndOff {
        withTables("ours", "stock") {
          val rows = table(600, 3).repartition(partitions)
          rows.createOrReplaceTempView("written")
          create("ours", rows, "k, t")
          create("stock", rows, "k, t")
          val sorts = sortsOf(insert("ours"))
          assert(sorts.size == 1 && sorts.forall(_.isInstanceOf[RangeSortExec]), sorts)
          withConf(RangeJoinConf.Enabled.key -> "false") {
            val sorts = sortsOf(insert("stock"))
            assert(sorts.size == 1 && sorts.forall(_.isInstanceOf[SortExec]), sorts)
          }
          assertInOrder("ours", "k", "t")
          val (ours, stock) = (contents("ours"), contents("stock"))
          assert(ours.keySet == stock.keySet && ours.size == 3)
          for (bucket <- stock.keys) {
            assert(ours(bucket).size == stock(bucket).size)
            assert(ours(bucket).flatten.map(_.toString).sorted ==
              stock(bucket).flatten.map(_.toString).sorted)
          }
        }
      }
    }

  private val number = "pmod(hash(id, 5), 40)"

  testOfCases("every type that a prepared table is sorted by", 3)(
    Seq(
      s"cast($number AS tinyint)",
      s"IF($number = 7, float('NaN'), IF($number = 8, float('-0.0'), float($number)))",
      s"IF($number = 7, double('NaN'), IF($number = 8, double('-Infinity'), double($number)))",
      s"cast($number / 7 AS decimal(9, 3))",
      s"cast($number / 7 AS decimal(30, 3))",
      s"date_add(date'1969-12-20', $number)",
      s"timestamp_seconds($number - 20)",
      s"concat('a common beginning, ', $number)",
      s"cast(cast($number AS string) AS binary)",
      s"$number > 20"
    )) { types =>
    for (bound <- types) withTables("ours") {
      val rows = table(300, 5).drop("t")
        .withColumn("t", expr(s"IF(id % 13 = 0, NULL, $bound)")).repartition(2)
      rows.createOrReplaceTempView("written")
      create("ours", rows, "k, t")
      val sorts = sortsOf(insert("ours"))
      assert(sorts.size == 1 && sorts.forall(_.isInstanceOf[RangeSortExec]), bound)
      assertInOrder("ours", "k", "t")
      assert(spark.table("ours").exceptAll(rows).isEmpty, bound)
      assert(rows.exceptAll(spark.table("ours")).isEmpty, bound)
    }
  }

  testOfCases("a partitioned table: files of each partition are in order, with stock's rows", 4)(
    for (buckets <- Seq("k", "k, d"); tasks <- Seq(1, 3)) yield (buckets, tasks)) { cases =>
    val days = "CASE WHEN id % 7 = 0 THEN NULL WHEN id % 7 = 1 THEN '' ELSE concat('d', id % 5) END"
    for ((buckets, tasks) <- cases) withTables("ours", "stock") {
      val rows = table(600, 3).withColumn("d", expr("id % 3 = 0")).drop("s")
        .withColumn("day", expr(days)).withColumn("hour", expr("cast(id % 2 AS int)"))
        .repartition(tasks)
      rows.createOrReplaceTempView("written")
      for (name <- Seq("ours", "stock"))
        spark.sql(s"CREATE TABLE $name (${rows.schema.toDDL}) USING parquet " +
          s"PARTITIONED BY (day, hour) CLUSTERED BY ($buckets) SORTED BY (k, t) INTO 3 BUCKETS")
      val sorts = sortsOf(insert("ours"))
      assert(sorts.size == 1 && sorts.forall(_.isInstanceOf[RangeSortExec]), sorts)
      withConf(RangeJoinConf.Enabled.key -> "false") {
        assert(sortsOf(insert("stock")).forall(_.isInstanceOf[SortExec]))
      }
      assertInOrder("ours", "k", "t")
      assert(filesOf("ours").size == filesOf("stock").size && filesOf("ours").size > 12)
      assert(spark.table("ours").exceptAll(spark.table("stock")).isEmpty)
      assert(spark.table("stock").exceptAll(spark.table("ours")).isEmpty)
    }
  }

  test("sorted by one column, or without prepared tables, is written as ever") {
    withTables("by_one_column", "as_ever") {
      val rows = table(60, 3).repartition(1)
      rows.createOrReplaceTempView("written")
      create("by_one_column", rows, "k")
      assert(sortsOf(insert("by_one_column")).forall(_.isInstanceOf[SortExec]))
      create("as_ever", rows, "k, t")
      withConf(RangeJoinConf.SortedTables.key -> "false") {
        assert(sortsOf(insert("as_ever")).forall(_.isInstanceOf[SortExec]))
      }
    }
  }
}
