// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.Max
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, BoundReference}
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.window.TaskMemory
import org.apache.spark.sql.types.{LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Rows whose matches are asked for by the same values as those of a row before. */
class KnownResultsSuite extends RangeJoinTest with TaskMemory {

  private val text = AttributeReference("text", StringType)()
  private val longest = MatchAggregator.create(
    MatchAggregation.of(Seq(Max(text).toAggregateExpression()), Seq(text)))

  private def aggregated(value: String): MatchAggregator = {
    longest.clear()
    longest.update(InternalRow(UTF8String.fromString(value)))
    longest
  }

  /** Results by the second column of rows. */
  private def withResults(bytes: Long = 256L << 20)(
      block: (KnownResults, TaskMemoryManager) => Unit): Unit =
    withTask(bytes) { task =>
      val results = new KnownResults(Seq(BoundReference(1, LongType, nullable = true)), task)
      try block(results, task)
      finally results.close()
    }

  test("rows are known by the columns of the condition alone") {
    withResults() { (results, _) =>
      def ask(first: Long, second: Any) = results.get(InternalRow(first, second))
      for ((value, matches) <- Seq[(Any, Long)]((7L, 3L), (8L, 0L), (null, 5L))) {
        assert(ask(matches, value) == null)
        results.put(matches, aggregated(s"of $value"))
      }
      for ((value, matches) <- Seq[(Any, Long)]((null, 5L), (7L, 3L), (8L, 0L))) {
        val known = ask(9L, value)
        assert(known.matches == matches && known.buffer.getString(0) == s"of $value")
      }
    }
  }

  test("given up where few rows are like others") {
    for (alike <- Seq(2000, 2100)) withResults() { (results, task) =>
      var known = 0
      for (i <- 0 until (1 << 16)) {
        if (results.get(InternalRow(0L, math.max(i - alike, 0).toLong)) != null) known += 1
        else results.put(1L, aggregated("a"))
      }
      assert(known == alike)
      val isKept = alike == 2100
      assert((results.get(InternalRow(0L, 0L)) != null) == isKept)
      assert((task.getMemoryConsumptionForThisTask > 0L) == isKept)
    }
  }

  test("given up soon where hardly any row is like another") {
    for (alike <- Seq(31, 32)) withResults() { (results, task) =>
      for (i <- 0 until 4096)
        if (results.get(InternalRow(0L, math.max(i - alike, 0).toLong)) == null)
          results.put(1L, aggregated("a"))
      assert((task.getMemoryConsumptionForThisTask > 0L) == (alike == 32))
      assert((results.get(InternalRow(0L, 0L)) != null) == (alike == 32))
    }
  }

  private def fill(results: KnownResults, rows: Int, value: String): Seq[Int] = {
    for (i <- 0 until rows) {
      assert(results.get(InternalRow(0L, i.toLong)) == null)
      results.put(i.toLong, aggregated(value))
    }
    (0 until rows).filter(i => results.get(InternalRow(0L, i.toLong)) != null)
  }

  test("no more is kept than 64 MiB, or than there is memory") {
    val value = "x" * (1 << 20)
    withResults() { (results, task) =>
      val known = fill(results, 100, value)
      assert(known == (known.head until 100) && known.size > 20 && known.size <= 64)
      assert(task.getMemoryConsumptionForThisTask <= (65L << 20))
    }
    withResults(8L << 20) { (results, _) =>
      val known = fill(results, 100, value)
      assert(known == (known.head until 100) && known.size <= 8)
    }
  }

  test("all is given back when another consumer asks for memory") {
    withResults(8L << 20) { (results, task) =>
      assert(fill(results, 5, "x" * (1 << 20)).size == 5)
      val other = new MemoryConsumer(task, MemoryMode.ON_HEAP) {
        override def spill(size: Long, trigger: MemoryConsumer): Long = 0L
      }
      assert(other.acquireMemory(7L << 20) == (7L << 20))
      assert((0 until 5).forall(i => results.get(InternalRow(0L, i.toLong)) == null))
      other.freeMemory(7L << 20)
    }
  }

  test("of a residual the pairs of rows that are alike are looked at once") {
    spark.range(3000).selectExpr(
      "id",
      "IF(id % 10 = 0, NULL, id % 3) AS k",
      "id % 5 AS t",
      "IF(id % 7 = 0, NULL, id % 2) AS c",
      "CAST(id % 11 AS STRING) AS s")
      .createOrReplaceTempView("l")
    spark.range(500).selectExpr("id", "id % 3 AS k", "id % 9 AS t", "id % 4 AS c", "id % 13 AS v")
      .createOrReplaceTempView("r")
    val aggregates = "sum(r.v), min(r.v), count(*), count(r.v), max(l.s)"
    for (joinType <- Seq("LEFT", "INNER");
      hint <- Seq("MERGE(r)", "SHUFFLE_HASH(r)", "BROADCAST(r)")) {
      val query = s"SELECT /*+ $hint */ l.id, $aggregates FROM l $joinType JOIN r " +
        "ON l.k = r.k AND r.t <= l.t AND r.c <> l.c GROUP BY l.id"
      val expected = rowsOfStock(spark.sql(query))
      for (engine <- nextEngine) withConf(engine: _*) {
        val df = spark.sql(query)
        assertSameRows(rows(df), expected, s"$query\n${executedPlan(df)}")
        val pairs = only(nodes[AggregateMatchesExec](df)).metrics("numPairs").value
        // 3 keys, 5 times and 3 values of c, each in two partitions at most, and 500 / 3 rows of a key.
        assert(pairs > 0 && pairs <= 3 * 5 * 3 * 2 * 167, s"$query: $pairs")
      }
    }
  }
}
