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

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.catalyst.InternalRow

/** Takes rows away from a faulty case for as long as it stays faulty, so that it can be read. */
final class Shrinker(runner: CaseRunner) {
  private var runsLeft = Shrinker.MostRuns

  def shrink(faulty: CaseResult): CaseResult = {
    val left = shrinkRows(faulty, _.left.rows, (c, rows) => c.copy(left = c.left.copy(rows = rows)))
    val right =
      shrinkRows(left, _.right.rows, (c, rows) => c.copy(right = c.right.copy(rows = rows)))
    shrinkRows(right, _.left.rows, (c, rows) => c.copy(left = c.left.copy(rows = rows)))
  }

  /** Tries without each chunk of rows, with chunks of half the rows first, then ever smaller. */
  private def shrinkRows(
      faulty: CaseResult,
      rowsOf: JoinCase => Seq[InternalRow],
      withRows: (JoinCase, Seq[InternalRow]) => JoinCase
  ): CaseResult = {
    var best = faulty
    var chunk = (rowsOf(best.join).size + 1) / 2
    while (chunk > 0) {
      var from = 0
      while (from < rowsOf(best.join).size && runsLeft > 0) {
        runsLeft -= 1
        val result = runner.run(withRows(best.join, rowsOf(best.join).patch(from, Nil, chunk)))
        if (result.fault.isDefined) best = result else from += chunk
      }
      chunk = if (chunk == 1) 0 else (chunk + 1) / 2
    }
    best
  }
}

object Shrinker {
  private val MostRuns = 200
}
