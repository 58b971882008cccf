// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.rangejoin.aggregate.WindowedFunction
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.kernel.NullBound

/**
 * Has a join planned as a range join where the windows of its matches stand in the functions above it alone:
 *
 * {{{
 *   SELECT l.id, sum(CASE WHEN r.t >= l.t - 3 THEN r.x ELSE 0 END), sum(r.x) FROM l JOIN r ON l.k = r.k GROUP BY l.id
 * }}}
 *
 * It gets an [[OpenRange]] of `r.t`: all rows of a key are in range, in the order of `r.t`, and a window is a part of
 * them whose ends are searched for. So no pair is made, and as every match is still in the run, groups exist, and rows
 * outside of a window count, as if all pairs were there. A narrower range, from the least begin of a window to the
 * greatest end, would lose the groups that have matches outside of it alone.
 *
 * Likewise where the join has a range whose later end is open: `r.t >= l.t - 30`.
 */
private[plan] object WindowsOfKeys {

  /** A join whose matches are in the order that windows are of; None where they are already, or nothing is of windows. */
  def opened(join: Join, wanted: AggregatedPairs): Option[Join] =
    if (PartitionRangeJoins.isWithoutKeys(join) || join.isStreaming || wanted.hasPython) None
    else {
      val (left, right) = (join.left.outputSet, join.right.outputSet)
      val sides = wanted.sides(left, right).toOption.toSeq.flatten.filter(side =>
        WantedPairs.areAll(join.joinType, side) && !Predicates.hasOneMatch(join, side))
      sides.view.flatMap(side =>
        opened(join, side, windowsOf(wanted, left, right, side))).headOption
    }

  /** Functions of both sides, which are all of windows. */
  private def windowsOf(
      wanted: AggregatedPairs,
      left: AttributeSet,
      right: AttributeSet,
      streamed: Side): Seq[WindowedFunction] =
    wanted.functions
      .filterNot(f => f.references.subsetOf(left) || f.references.subsetOf(right))
      .flatMap(WindowedFunction.of(_, left, right, streamed))

  private def opened(join: Join, streamed: Side, windows: Seq[WindowedFunction]): Option[Join] =
    for {
      first <- windows.headOption
      value <- first.bounds.headOption.map(_.child)
      end <- first.window.upperBound.orElse(first.window.lowerBound)
      if RangeExtractor.extract(join, Some(streamed)).forall(_.upperTest.isEmpty)
      open = OpenRange(value, end.child, NullBound.BeforeValues, ofWindows = true)
      result = join.copy(condition = join.condition.map(And(_, open)))
      range <- RangeExtractor.extract(result, Some(streamed)).toOption
      // Where something else is asked of each pair, pairs are visited.
      if range.residual.isEmpty && range.areNeighbours
      ordered <- range.sortBound
      if windows.forall(_.isPartOfRuns(ordered))
    } yield result
}
