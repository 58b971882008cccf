// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.rangejoin.conf.InternalConf

import org.scalatest.funsuite.AnyFunSuite

/** What the generator of random joins draws; without Spark running. */
class RandomJoinSuite extends AnyFunSuite {
  private val Seeds = 1L to 6000L

  private def draw(seeds: Seq[Long]): Seq[JoinCase] = seeds.map(new RandomJoin(_).join)
  private lazy val drawn = draw(Seeds)

  private def share(holds: JoinCase => Boolean): Double =
    drawn.count(holds).toDouble / drawn.size

  test("a seed gives the same case whatever was drawn before") {
    for (seed <- Seq(7L, 1234567L, -5L, Long.MaxValue)) {
      val first = new RandomJoin(seed).join
      new RandomJoin(seed + 1)
      val again = new RandomJoin(seed).join
      assert(again.reproduction == first.reproduction)
      assert(again.engines == first.engines)
    }
  }

  test("a few hundred seeds from anywhere have every shape with every join type") {
    for (first <- Seq(1L, 987654321L, -100L)) {
      val combinations = draw(first until first + Shape.all.size * JoinForm.all.size).map(c =>
        (c.shape, c.form)).toSet
      assert(combinations.size == Shape.all.size * JoinForm.all.size)
    }
  }

  test("every range type comes up with every shape that it has") {
    val found = drawn.map(c => (c.rangeType, c.shape)).toSet
    for (t <- RangeType.all; shape <- Shape.all if shape.fits(t, t)) {
      assert(found((t.name, shape)))
    }
    for ((l, r) <- RangeType.mixed) assert(drawn.exists(_.rangeType == s"$l, $r"))
  }

  test("settings, hints, residuals, ways to ask and extreme tables come up") {
    assert(drawn.map(_.settings).distinct.size == 2 * 4 * 2 * 2)
    val ofOthers = drawn.flatMap(_.engines).map(_.filterNot { case (key, _) =>
      Seq(
        InternalConf.IndexLimit,
        InternalConf.LinearScanThreshold,
        InternalConf.SecondRangeThreshold,
        InternalConf.SkewBuckets)
        .exists(_.key == key)
    })
    assert(ofOthers.distinct.size == 16 * (3 + 4 + 1))
    val limits = drawn.flatMap(_.engines.flatten).collect {
      case (key, limit)
          if key == InternalConf.IndexLimit.key => limit
    }
    assert(limits.distinct.size == 2)
    for (hint <- Seq("MERGE(l)", "SHUFFLE_MERGE(l)", "SHUFFLE_HASH(l)", "SHUFFLE_HASH(r)")) {
      assert(share(_.query.sql.contains(hint)) > 0.02)
    }
    assert(share(_.query.sql.contains("coalesce(")) > 0.1)
    assert(share(_.isPreserved) > 0.08)
    assert(share(_.isRanked) > 0.05)
    for (form <- JoinForm.all if form != JoinForm.InnerForm) {
      assert(drawn.exists(c => c.isPreserved && c.form == form), form)
    }
    for (part <-
        Seq("<=>", "BETWEEN", "NOT (", "NOT EXISTS", " IN (", "GROUP BY", "fuzz_odd", "OVER")) {
      assert(share(_.query.sql.contains(part)) > 0.005, part)
    }
    // A second range, of which any is written first.
    val second = "l.v BETWEEN r.v - 2 AND r.v + 2"
    for (settings <- Seq(InternalConf.SecondRangeThreshold, InternalConf.RangePartitioningBuckets))
      assert(share(c =>
        c.query.sql.contains(second) && c.engines.flatten.exists(_._1 == settings.key)) > 0.005)
    assert(drawn.exists(_.query.sql.contains(s"$second AND ")))
    assert(drawn.exists(_.query.sql.contains(s" AND $second")))
    assert(share(c => c.left.rows.isEmpty || c.right.rows.isEmpty) > 0.02)
    assert(share(c => c.left.rows.size == 1 || c.right.rows.size == 1) > 0.02)
    assert(share(_.left.schema.fieldNames.contains("k2")) > 0.1)
    assert(share(_.left.schema("y").nullable) > 0.5)
    assert(share(_.left.schema.tail.exists(!_.nullable)) > 0.05)
  }
}
