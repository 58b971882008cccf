// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.execution.debug.DebugExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest

/** The partial merge above aggregated matches is skipped while no group comes twice. */
class SkipPartialMergeSuite extends RangeJoinTest {

  /** Left rows of ten keys, one after the other, each with the same thousand times; some right rows. */
  private def sides(): Unit = {
    // The other partition has none of them. Spark knows that `range` is partitioned by its own column.
    spark.range(0, 20000, 1, 2).where("id < 10000")
      .selectExpr("id * 3 AS id", "id DIV 1000 AS k", "id % 1000 AS t").createOrReplaceTempView("l")
    spark.range(500).selectExpr("id % 10 AS k", "id * 2 AS t", "id AS x")
      .createOrReplaceTempView("r")
  }

  /** How many rows go past the merge, and how many it gives, of a query by some columns. */
  private def counts(by: String, clauses: String = ""): (Long, Long) = {
    sides()
    val query =
      s"SELECT /*+ BROADCAST(r) */ $by, count(*), sum(r.x), max(r.t) FROM l LEFT JOIN r " +
        s"ON l.k = r.k AND r.t BETWEEN l.t - 20 AND l.t GROUP BY $by $clauses"
    val expected = withConf(Flag -> "false")(rows(spark.sql(query)))
    val found = for (engine <- bothEngines)
      yield withConf(engine :+ (SQLConf.SHUFFLE_PARTITIONS.key -> "3"): _*) {
        val df = spark.sql(query)
        assertSameRows(rows(df), expected, s"$query under $engine\n${executedPlan(df)}")
        assert(nodes[AggregateMatchesExec](df).size == 1)
        val skips = nodes[SkipPartialMergeExec](df)
        assert(skips.size == 1, executedPlan(df))
        val skip = skips.head
        (skip.metrics("numNotMerged").value, skip.merge.get.metrics("numOutputRows").value)
      }
    assert(found.distinct.size == 1)
    found.head
  }

  test("rows go past the merge where each is a group") {
    assert(counts("l.id") == (10000, 0))
    assert(counts("l.k, l.t") == (10000, 0))
  }

  test("rows are merged where there are few groups") {
    assert(counts("l.k") == (64, 10))
    assert(counts("l.t % 3, l.k % 2") == (64, 6))
  }

  test("rows are merged from when groups come again") {
    // The thousand times of the first key are new; those of the second make up a third of the next rows.
    val (notMerged, merged) = counts("l.t")
    assert(notMerged == 64 + 128 + 256 + 512 + 1024)
    assert(merged == 1000)
  }

  test("grouping sets repeat their totals") {
    val (notMerged, merged) = counts("l.id", "WITH ROLLUP")
    assert(notMerged == 64)
    assert(merged > 9000)
  }

  test("what stands in the place of the merge, or below it, takes all rows") {
    sides()
    val query = "SELECT /*+ BROADCAST(r) */ l.id, sum(r.x) FROM l LEFT JOIN r " +
      "ON l.k = r.k AND r.t BETWEEN l.t - 20 AND l.t GROUP BY l.id"
    withConf("spark.sql.adaptive.enabled" -> "false") {
      val expected = withConf(Flag -> "false")(spark.sql(query).collect().length)
      val df = spark.sql(query)
      val Seq(skip) = nodes[SkipPartialMergeExec](df): @unchecked
      // As `df.debug()` does it.
      val wrapped = Seq(
        skip.copy(DebugExec(skip.child)),
        skip.transformUp { case rest: RestOfRowsExec => DebugExec(rest) })
      for (plan <- wrapped) assert(plan.execute().count() == expected)
    }
  }

  test("hashes of new groups that fall on others are no groups that came before") {
    val random = new scala.util.Random(20261126)
    val groups = new RepeatedGroups
    for (_ <- 0 until 2000000) groups.add(random.nextInt())
    assert(!groups.repeat)
    def isFound(tenths: Int): Boolean = {
      val groups = new RepeatedGroups
      for (i <- 0 until 100000) groups.add(if (i % 10 < tenths) i % 10 else random.nextInt())
      groups.repeat
    }
    assert(isFound(tenths = 4) && !isFound(tenths = 3))
  }

  test("rows are merged once hashes say nothing") {
    val random = new scala.util.Random(20261126)
    val groups = new RepeatedGroups
    var added = 0
    while (!groups.repeat) {
      groups.add(random.nextInt())
      added += 1
    }
    assert(added > 9000000 && added < 11000000)
  }
}
