// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BasePredicate
import org.apache.spark.sql.rangejoin.kernel.Guarded

/**
 * The error of a streamed row, raised unless the row has a match.
 *
 * A join that stops at the first match must not raise for a pair that stock Spark, whose rows of a key come in another
 * order, has no need to test. The first error of a pair is therefore kept until it is known that the streamed row has
 * no match, in which case stock Spark tests every pair as well.
 */
final class ErrorUnlessMatched {
  private[this] var kept: Throwable = _

  /** Forgets what was kept of the streamed row before. */
  def clear(): Unit = kept = null

  /** Keeps the error of a pair, unless it is no error of the data, which is raised at once. */
  def keep(error: Throwable): Unit = {
    Guarded.rethrowUnlessOfData(error)
    if (kept == null) kept = error
  }

  /** Raises what was kept: the streamed row has no match. */
  def raise(): Unit = if (kept != null) throw kept

  /** Whether a predicate holds for a pair; it does not where it raises, and the error is kept. */
  def holds(predicate: BasePredicate, pair: InternalRow): Boolean =
    try predicate.eval(pair)
    catch {
      case e: Throwable =>
        keep(e)
        false
    }
}
