// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.{Exchange, ValidateRequirements}
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

import org.scalatest.BeforeAndAfterAll

/**
 * Operators above a join are planned on the order that Spark's own join promises. If the range join
 * broke the promise no row would be wrong, but adaptive execution would refuse the stage all it does
 * for it: so the plans of whole chains are held against those of stock Spark.
 */
class OrdersOfChainsSuite extends RangeJoinTest with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    for ((name, seed) <- Seq("a", "b", "c", "d").zipWithIndex) {
      spark.range(0, 60, 1, 2).selectExpr(
        s"id AS i$name",
        s"pmod(hash(id, $seed), 9) AS k$name",
        s"pmod(hash(id, $seed + 5), 3) AS m$name",
        s"pmod(hash(id, $seed + 9), 200) AS t$name"
      ).createOrReplaceTempView(name)
    }
  }

  private val Near = "tc BETWEEN ta - 100 AND ta + 100"

  /** No column is known to rise with these bounds: they are columns of their own. */
  private val NearComputed = "tc * 2 BETWEEN ta * 2 - 200 AND ta * 2 + 200"

  /** Chains that are joined by computed bounds as well. */
  private val AlsoComputed = Set(
    "a join above on the other key of the join below",
    "outer joins above",
    "a semi join",
    "a window above by a key and more, and another one",
    "an aggregate below",
    "a key less"
  )

  /** Names and queries; each has one range join. */
  private val chains: Seq[(String, String)] = for {
    (kind, near) <- Seq("" -> Near, ", bounds computed" -> NearComputed)
    (name, sql) <- Seq(
      "a join above on the other key of the join below" ->
        s"SELECT * FROM a JOIN b ON ka = kb JOIN c ON ka = kc AND $near JOIN d ON kb = kd",
      "a join above on the other key of the range join" ->
        s"SELECT * FROM a JOIN b ON ka = kb JOIN c ON ka = kc AND $near JOIN d ON kc = kd",
      "the range join on the other key of the join below" ->
        s"SELECT * FROM a JOIN b ON ka = kb JOIN c ON kb = kc AND $near JOIN d ON ka = kd",
      "a chain on the right side" ->
        s"""SELECT * FROM c JOIN (SELECT * FROM a JOIN b ON ka = kb) ON ka = kc AND $near
           |JOIN d ON kb = kd""".stripMargin,
      "outer joins above" ->
        s"""SELECT * FROM a JOIN b ON ka = kb LEFT JOIN c ON ka = kc AND $near
           |LEFT JOIN d ON kb = kd""".stripMargin,
      "a right outer range join" ->
        s"""SELECT * FROM c RIGHT JOIN (SELECT * FROM a JOIN b ON ka = kb) ON ka = kc AND $near
           |RIGHT JOIN d ON kb = kd""".stripMargin,
      "an outer join below" ->
        s"SELECT * FROM a LEFT JOIN b ON ka = kb JOIN c ON ka = kc AND $near JOIN d ON kb = kd",
      "a full outer range join" ->
        s"""SELECT * FROM a JOIN b ON ka = kb FULL JOIN c ON ka = kc AND $near
           |JOIN d ON kb = kd""".stripMargin,
      "a semi join" ->
        s"""SELECT * FROM a JOIN b ON ka = kb LEFT SEMI JOIN c ON ka = kc AND $near
           |JOIN d ON kb = kd""".stripMargin,
      "an anti join, and a semi join above" ->
        s"""SELECT * FROM a JOIN b ON ka = kb LEFT ANTI JOIN c ON ka = kc AND $near
           |LEFT SEMI JOIN d ON kb = kd""".stripMargin,
      "an existence join" ->
        s"""SELECT * FROM (SELECT * FROM a JOIN b ON ka = kb
           |  WHERE ia > 40 OR EXISTS (SELECT * FROM c WHERE ka = kc AND $near)) JOIN d ON kb = kd
           |""".stripMargin,
      "a window above by the other key" ->
        s"""SELECT *, row_number() OVER (PARTITION BY kb ORDER BY ia, ib, ic) AS n
           |FROM a JOIN b ON ka = kb JOIN c ON ka = kc AND $near""".stripMargin,
      "a window above by a key and more, and another one" ->
        s"""SELECT *, count(*) OVER (PARTITION BY kb) AS n,
           |sum(tc) OVER (PARTITION BY kc ORDER BY ta) AS s
           |FROM a JOIN b ON ka = kb JOIN c ON ka = kc AND $near""".stripMargin,
      "a window below" ->
        s"""SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY ka ORDER BY ia) AS n FROM a) a
           |JOIN c ON ka = kc AND $near JOIN d ON kc = kd""".stripMargin,
      "an aggregate above by the other key" ->
        s"""SELECT kb, count(*), sum(tc) FROM a JOIN b ON ka = kb JOIN c ON ka = kc AND $near
           |GROUP BY kb""".stripMargin,
      "an aggregate that sorts" ->
        s"""SELECT kb, max(cast(tc AS STRING)) FROM a JOIN b ON ka = kb
           |JOIN c ON ka = kc AND $near GROUP BY kb""".stripMargin,
      "an aggregate below" ->
        s"""SELECT * FROM (SELECT ka, max(cast(ta AS STRING)) AS m, min(ta) AS ta FROM a GROUP BY ka)
           |JOIN c ON ka = kc AND $near JOIN d ON kc = kd""".stripMargin,
      "two keys" ->
        s"""SELECT * FROM a JOIN b ON ka = kb AND ma = mb
           |JOIN c ON ka = kc AND ma = mc AND $near JOIN d ON kb = kd AND mb = md""".stripMargin,
      "two keys, the other way round" ->
        s"""SELECT * FROM a JOIN b ON ma = mb AND ka = kb
           |JOIN c ON ka = kc AND ma = mc AND $near JOIN d ON mb = md AND kb = kd""".stripMargin,
      "a second key" ->
        s"""SELECT * FROM a JOIN b ON ka = kb JOIN c ON ka = kc AND ma = mc AND $near
           |JOIN d ON kb = kd""".stripMargin,
      "a key less" ->
        s"""SELECT * FROM a JOIN b ON ka = kb AND ma = mb JOIN c ON ka = kc AND $near
           |JOIN d ON kb = kd AND mb = md""".stripMargin,
      "keys renamed and computed" ->
        s"""SELECT * FROM (SELECT ka AS x, kb AS y, ta FROM a JOIN b ON ka = kb)
           |JOIN c ON x = kc AND $near JOIN d ON y = kd""".stripMargin,
      "keys that are floating point" ->
        s"""SELECT * FROM a JOIN b ON cast(ka AS DOUBLE) = cast(kb AS DOUBLE)
           |JOIN c ON cast(ka AS DOUBLE) = cast(kc AS DOUBLE) AND $near
           |JOIN d ON cast(kb AS DOUBLE) = cast(kd AS DOUBLE)""".stripMargin
    )
    if kind.isEmpty || AlsoComputed(name)
  } yield (name + kind) -> sql

  /** The plans of all stages, the last one's first. */
  private def stages(plan: SparkPlan): Seq[SparkPlan] =
    stripAQEPlan(plan) +: collect(plan) { case stage: QueryStageExec => stage.plan }

  private def coalesced(plan: SparkPlan): Int = collect(plan) {
    case read: AQEShuffleReadExec if read.hasCoalescedPartition => read
  }.size

  private def exchanges(plan: SparkPlan): Int = collect(plan) { case e: Exchange => e }.size

  /** Sorts of whole inputs. */
  private def sorts(plan: SparkPlan): Int = collect(plan) {
    case s: SortExec                             => s
    case s: RangeSortExec if s.presorted.isEmpty => s
  }.size

  private def assertAsGood(ours: SparkPlan, stock: SparkPlan): Unit = {
    val clue = s"$ours\n$stock"
    assert(coalesced(ours) == coalesced(stock), clue)
    assert(exchanges(ours) <= exchanges(stock), clue)
    assert(sorts(ours) <= sorts(stock), clue)
    for (stage <- stages(ours)) assert(ValidateRequirements.validate(stage), stage)
  }

  for ((name, sql) <- chains) {
    test(s"reads, exchanges and sorts are as stock Spark's: $name") {
      withConf(SQLConf.USE_OBJECT_HASH_AGG.key -> "false") {
        def query = spark.sql(sql)
        withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true") {
          val (stock, expected) = withConf(Flag -> "false") {
            val df = query
            (df, rows(df))
          }
          val ours = query
          assert(rangeJoins(ours).size == 1)
          assertSameRows(rows(ours), expected, s"${executedPlan(ours)}")
          assert(expected.nonEmpty)
          assert(coalesced(executedPlan(ours)) > 0)
          assertAsGood(executedPlan(ours), executedPlan(stock))
        }
        withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
          assertAsGood(executedPlan(query), withConf(Flag -> "false")(executedPlan(query)))
        }
      }
    }
  }
}
