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

package org.apache.spark.sql.rangejoin

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._

/** Joins against stock Spark in the same session, under every engine. */
class JoinResultSuite extends RangeJoinTest {

  private def numbers(rows: Int, keys: Int, domain: Int, seed: Int): DataFrame =
    spark.range(rows).select(
      col("id"),
      pmod(hash(col("id"), lit(seed)), lit(keys)).as("k"),
      pmod(hash(col("id"), lit(seed + 1)), lit(domain)).as("t")
    )

  test("a band over ints joins like stock") {
    val l = numbers(400, 5, 200, 1).as("l")
    val r = numbers(300, 5, 200, 2).as("r")
    val n = checkAgainstStock(l.join(r, expr("l.k = r.k and r.t between l.t - 3 and l.t + 3")))
    assert(n > 100)
  }
}
