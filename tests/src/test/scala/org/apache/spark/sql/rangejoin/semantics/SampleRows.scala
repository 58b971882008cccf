// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

/** A row of a side in a test of join types: an interval from `t` to `u`, and a value. */
case class SampleRow(k: Option[Int], t: Int, u: Int, v: Int) {
  def sql: String = s"${k.fold("NULL")(_.toString)}, $t, $u, $v"
}

/** A range between the sides, as SQL and as what it means for two rows of one key. */
case class Shape(name: String, sql: String)(val holds: (SampleRow, SampleRow) => Boolean) {
  def and(otherSql: String)(other: (SampleRow, SampleRow) => Boolean): Shape =
    Shape(name, s"$sql AND $otherSql")((l, r) => holds(l, r) && other(l, r))
}

/**
 * Rows with what a join type may get wrong: keys that one side lacks, at the beginning, in between
 * and at the end; NULL keys; within a key, rows without match before, between and after those with
 * matches, on both sides; ties; long intervals and inverted ones.
 */
object SampleRows {
  private def ofKey(k: Int)(rows: (Int, Int, Int)*): Seq[SampleRow] =
    rows.map { case (t, u, v) => SampleRow(Some(k), t, u, v) }

  private val nulls = Seq(SampleRow(None, 5, 6, 1), SampleRow(None, 10, 20, 2))

  val Left: Seq[SampleRow] = nulls ++
    ofKey(0)((1, 2, 1)) ++
    ofKey(1)((-50, -49, 1), (10, 12, 2), (11, 40, 3), (20, 21, 4), (30, 25, 5), (99, 99, 6)) ++
    ofKey(3)((5, 5, 1), (5, 5, 2), (5, 9, 3)) ++
    ofKey(4)((1, 1, 7), (2, 90, 8)) ++
    ofKey(6)((50, 60, 1)) ++
    ofKey(8)((1, 9, 1), (9, 1, 2))

  val Right: Seq[SampleRow] = nulls ++
    ofKey(1)((-9, -8, 1), (9, 10, 2), (13, 14, 3), (21, 35, 4), (22, 22, 5), (60, 70, 6)) ++
    ofKey(2)((1, 2, 1), (10, 10, 2)) ++
    ofKey(3)((4, 6, 1), (5, 5, 2), (5, 5, 3), (8, 7, 4)) ++
    ofKey(4)((70, 71, 5)) ++
    ofKey(6)((1, 1, 1), (99, 100, 2)) ++
    ofKey(9)((1, 2, 3))

  val Shapes: Seq[Shape] = Seq(
    Shape("band", "r.t BETWEEN l.t - 2 AND l.t + 2")((l, r) => (l.t - r.t).abs <= 2),
    Shape("point in an interval of the left side", "r.t BETWEEN l.t AND l.u")((l, r) =>
      l.t <= r.t && r.t <= l.u),
    Shape("point in an interval of the right side", "l.t >= r.t AND l.t < r.u")((l, r) =>
      r.t <= l.t && l.t < r.u),
    Shape("overlap", "l.t <= r.u AND r.t <= l.u")((l, r) => l.t <= r.u && r.t <= l.u),
    Shape("lower bound only", "r.t >= l.t")((l, r) => r.t >= l.t),
    Shape("upper bound only", "r.t < l.t")((l, r) => r.t < l.t),
    Shape("two tests in the same direction", "l.t <= r.t AND l.u <= r.u")((l, r) =>
      l.t <= r.t && l.u <= r.u)
  )

  /** The pairs of positions, from 1, that a shape joins. */
  def pairs(shape: Shape): Seq[(Int, Int)] = for {
    (l, i) <- Left.zipWithIndex
    (r, j) <- Right.zipWithIndex
    if l.k.isDefined && l.k == r.k && shape.holds(l, r)
  } yield (i + 1) -> (j + 1)
}
