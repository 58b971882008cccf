// SPDX-License-Identifier: Apache-2.0

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
