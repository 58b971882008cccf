// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.rangejoin.RangeJoinTest.{AdaptiveEngines, Settings}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.partitioning.KeyHash
import org.apache.spark.sql.rangejoin.skew.SkewReshuffleExec

import org.scalatest.tagobjects.Slow

/** Joins with keys that are split by the range. */
class SkewedBestCopiesSuite extends BestCopiesTest {
  import BestMatchesTest._

  override protected def repeatsTests: Boolean = true

  // What of a value is copied is the same as without a key.
  override protected def types: Seq[String] = Seq("INT", "TIMESTAMP", "DOUBLE")

  override protected def quickTypes: Set[String] = Set("TIMESTAMP")

  override protected def keyed(range: String): String = s"l.k = r.k AND $range"

  override protected def inBuckets(buckets: Int): Form =
    Form("MERGE(r)", Seq(InternalConf.SkewBuckets.key -> buckets.toString))

  override protected def engines: Seq[Settings] = oneIn(AdaptiveEngines.size)(AdaptiveEngines)

  private def copied(df: DataFrame): Option[SkewReshuffleExec] =
    collect(executedPlan(df)) { case node: SkewReshuffleExec if !node.isOwner => node }.headOption

  override protected def copiesBest(df: DataFrame): Option[Boolean] =
    copied(df).map(_.best.isDefined)

  override protected def numCopies(df: DataFrame): Long =
    copied(df).get.metrics("numCopies").value

  test("keys that share a hash share buckets, but not the best rows", Slow) {
    val random = new Random(10)
    def hash(key: Long): Any = KeyHash.of(Seq[Expression](Literal(key))).eval()
    val (a, b) = Seq.fill(200000)(random.nextLong()).distinct.groupBy(hash).values.collectFirst {
      case keys if keys.size > 1 => (keys(0), keys(1))
    }.get
    spread(120, 200, 10)
    for (name <- Seq("l", "r")) {
      spark.table(name).selectExpr(
        "id",
        "t",
        "v",
        s"CASE k WHEN 0 THEN ${a}L WHEN 1 THEN ${b}L ELSE 7 END AS k")
        .createOrReplaceTempView(name)
    }
    for ((direction, function) <- Seq("ASC" -> "row_number()", "DESC" -> "rank()"))
      checkCopies(ranked("r.t <= l.t", s"r.t $direction", function), buckets = Some(6))
  }

  test("of an inner join the larger side is the owner where ties have to be kept") {
    spread(60, 400, 11)
    for ((function, best) <- Seq("rank()" -> false, "row_number()" -> true)) {
      val shown = if (best) "r.t AS rt" else "r.id AS rid"
      checkCopies(
        ranked("r.t <= l.t", "r.t DESC", function, joinType = "INNER", shown = shown),
        best,
        buckets = Some(6))
    }
  }
}
