/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.exec

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.RangeJoinTest

/**
 * The work is bounded: on no data does a join examine more candidates than it emits rows, refuses
 * pairs by its residual, and reads rows. Data is in one key and made against the algorithm, so that
 * a scan that looks at rows in vain would look at millions.
 */
class WorkSuite extends RangeJoinTest {
  private val N = 1000

  /** Intervals from `y` to `z` with an `id`, by expressions of the row number. */
  private def intervals(name: String)(y: String, z: String): Unit =
    spark.range(N).selectExpr("id", "id % 1 AS k", s"$y AS y", s"$z AS z", "id % 5 AS v")
      .createOrReplaceTempView(name)

  private val data = Seq[(String, () => Unit)](
    "staircases" -> { () =>
      intervals("l")("id * 10", "id * 10 + 15")
      intervals("r")("id * 10 + 3", "id * 10 + 12")
    },
    "one interval that covers all" -> { () =>
      intervals("l")("id * 10", "if(id = 0, 1000000, id * 10 + 5)")
      intervals("r")("id * 10 + 2", "if(id = 0, 1000000, id * 10 + 4)")
    },
    "all ties" -> { () =>
      intervals("l")("7 + id % 1", "7 + id % 2")
      intervals("r")("7 + id % 40", "7 + id % 40")
    },
    "long and short intervals mixed" -> { () =>
      intervals("l")("id * 10", "id * 10 + if(id % 50 = 0, 4000, 3)")
      intervals("r")("id * 10 + 1", "id * 10 + if(id % 37 = 0, 9000, 2)")
    },
    "inverted intervals" -> { () =>
      intervals("l")("id * 10", "id * 10 - id % 60")
      intervals("r")("id * 10 + 5", "id * 10 - id % 70")
    },
    "ends in no order" -> { () =>
      intervals("l")("id * 10", "pmod(hash(id), 15000)")
      intervals("r")("pmod(hash(id, 1), 15000)", "pmod(hash(id, 2), 15000)")
    }
  )

  private val shapes = Seq(
    "band" -> "r.y BETWEEN l.y - 9 AND l.y + 9",
    "distance" -> "abs(l.y - r.y) < 6",
    "point in interval" -> "l.y BETWEEN r.y AND r.z",
    "interval around a point" -> "r.y BETWEEN l.y AND l.z",
    "overlap" -> "l.y <= r.z AND r.y < l.z",
    "bound that does not rise" -> "r.y BETWEEN l.y % 700 AND l.y % 1000",
    "strings" -> "string(r.y) BETWEEN string(l.y) AND string(l.z)",
    "strings of one prefix" -> "'common prefix ' || r.y BETWEEN 'common prefix ' || l.y AND 'common prefix ' || l.z",
    "doubles" -> "r.y / 3D BETWEEN l.y / 3D - 1 AND l.z / 3D"
  )

  private val joins =
    Seq("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")

  private val Residual = "l.v <> r.v"

  /** Pairs in the range that the residual refuses, counted by stock Spark. */
  private def refused(range: String, residual: Option[String]): Long = residual.fold(0L) { holds =>
    withConf(Flag -> "false") {
      spark.sql(s"SELECT count(*) FROM l JOIN r ON l.k = r.k AND $range AND NOT ($holds)")
        .head().getLong(0)
    }
  }

  /** Runs a join and compares its count of candidates with the bound. */
  private def check(df: DataFrame, refused: Long, what: String): Unit = {
    df.collect()
    val metrics = only(rangeJoins(df)).metrics
    val (candidates, output) = (metrics("numCandidates").value, metrics("numOutputRows").value)
    val bound = output + refused + 2L * N
    assert(
      candidates <= bound,
      s"$what: $candidates candidates for $output rows, $refused refused")
    assert(metrics("numEvictedRows").value <= N)
    assert(metrics("peakWindowRows").value <= N)
  }

  for (((dataName, make), n) <- data.zipWithIndex) {
    test(s"$dataName: candidates are bounded by output, refused pairs and rows") {
      make()
      val cases = shapes.map { case (shape, range) => (shape, range, None) } ++
        shapes.take(3).map { case (shape, range) => (shape, range, Some(Residual)) }
      for (((shape, range, residual), i) <- cases.zipWithIndex) {
        // The join types in turn, so that every one meets most shapes.
        val join = joins((i + n) % joins.size)
        val on = s"l.k = r.k AND $range${residual.fold("")(" AND " + _)}"
        val shown = if (join.contains("SEMI") || join.contains("ANTI")) "l.id" else "l.id, r.id"
        val df = spark.sql(s"SELECT $shown FROM l $join r ON $on")
        check(df, refused(range, residual), s"$shape: $join $on")
      }
    }
  }

  test("a range in one direction examines nothing but its pairs, either way round") {
    data.head._2()
    for (join <- joins; condition <- Seq("l.y <= r.y", "r.y < l.y", "l.y <= r.y AND l.z <= r.z")) {
      val df = spark.sql(s"SELECT count(*) FROM l $join r ON l.k = r.k AND $condition")
      check(df, if (condition.contains("z")) N.toLong else 0L, s"$join $condition")
    }
  }
}
