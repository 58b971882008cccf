// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, UnsafeProjection}
import org.apache.spark.sql.rangejoin.condition.JoinTypeBehavior
import org.apache.spark.sql.rangejoin.join.{PairTestSpec, PairTests}

/**
 * What tasks need to make their scanner.
 *
 * @param keys of the streamed side, bound to it
 * @param lower the lower bound of a streamed row; None where there is no such test
 * @param upper likewise the upper bound
 * @param tests bound to the streamed row followed by a row of the index
 * @param point what the best candidates are compared with; None where they are not
 * @param second the lower and the upper bound of a streamed row by a second range; none where there is none
 */
case class IndexScannerFactory(
    keys: Seq[Expression],
    lower: Option[Expression],
    upper: Option[Expression],
    tests: PairTestSpec,
    behavior: JoinTypeBehavior,
    point: Option[Expression],
    second: Seq[Expression]
) {

  /**
   * A scanner of streamed rows.
   *
   * @param evaluatesKeysIfEmpty whether the keys of streamed rows are evaluated even if the index
   *   was built of no rows: what is evaluated is what stock evaluates, and raises what it raises
   */
  def create(
      streamed: Iterator[InternalRow],
      cursor: RangeCursor,
      evaluatesKeysIfEmpty: Boolean = behavior.evaluatesKeysIfEmpty
  ): IndexScanner = new IndexScanner(
    streamed,
    cursor,
    if (keys.isEmpty) null else UnsafeProjection.create(keys),
    UnsafeProjection.create(Seq(lower, upper).map(_.getOrElse(Literal(0L)))),
    PairTests.create(tests),
    behavior,
    evaluatesKeys = keys.nonEmpty && (evaluatesKeysIfEmpty || !cursor.buildIsEmpty),
    point,
    if (second.isEmpty) null else UnsafeProjection.create(second)
  )
}
