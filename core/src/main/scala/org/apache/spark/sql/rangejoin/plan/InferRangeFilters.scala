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

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project, Union}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.rangejoin.RangeJoinConf
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.pruning.{ImpliedLimit, ImpliedLimits, KnownValues}

/**
 * Where a query limits the range column of one side, rows of the other side that are beyond it are
 * filtered before they are joined: of `e.at BETWEEN w.start AND w.stop` and `e.at >= '2024-01-01'`
 * follows `w.stop >= '2024-01-01'`. Stock Spark infers this of equal columns alone.
 *
 * Runs once, when filters are where they belong, and takes its own to where they belong: as far as to
 * the scan, which may leave out partitions by them, and files ([[PruneLimitedScans]]). Spark makes joins of
 * `EXISTS` and `IN` later.
 */
object InferRangeFilters extends Rule[LogicalPlan] {

  /** Limits go from one join to the next in so many steps, and from column to column of one join. */
  private val MostSteps = 5

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(RangeJoinConf.Enabled) || !conf.getConf(RangeJoinConf.InferFilters)) plan
    else if (!plan.exists(hasLimit)) plan
    else settled(plan, MostSteps)

  /** Constraints take their time, and most queries have none of use here. */
  private def hasLimit(plan: LogicalPlan): Boolean = plan match {
    case Filter(condition, _) => condition.exists {
        case comparison: BinaryComparison => comparison.children.exists(_.isInstanceOf[Literal])
        case _                            => false
      }
    case _ => false
  }

  @tailrec private def settled(plan: LogicalPlan, steps: Int): LogicalPlan = {
    val next = plan.transformUp { case join: Join if !join.isStreaming => inferred(join) }
    if (next.fastEquals(plan) || steps == 1) next else settled(next, steps - 1)
  }

  private def inferred(join: Join): LogicalPlan = {
    val condition = MarkRangeJoins.conditionBesideKeys(join).getOrElse(join.condition)
    RangeExtractor
      .extract(join.joinType, condition, join.left.outputSet, join.right.outputSet)
      .fold(
        _ => join,
        range => {
          val limits = implied(join, range)
          if (limits.isEmpty) join
          else join.copy(left = filtered(join.left, limits), right = filtered(join.right, limits))
        }
      )
  }

  /** What limits one column may limit another one, which limits the first: none if that has no end. */
  private def implied(join: Join, range: RangeCondition): Seq[BinaryComparison] = {
    val sides = Seq(LeftSide -> join.left, RightSide -> join.right).filter { case (side, _) =>
      mayFilter(join.joinType, side)
    }
    lazy val written = (join.left.constraints ++ join.right.constraints).toSeq.flatMap(limitsOf)

    @tailrec def settle(found: Seq[BinaryComparison], steps: Int): Seq[BinaryComparison] = {
      val next = for {
        (side, child) <- sides
        limit <-
          ImpliedLimits.of(range, side, knownValues(written ++ found.flatMap(Comparison.of(_))))
        if !isComputed(child, limit.references.head)
      } yield limit
      if (next.isEmpty) found
      else if (steps == 0) Nil
      else settle(found.filterNot(old => next.exists(isTighter(_, old))) ++ next, steps - 1)
    }
    settle(Nil, MostSteps)
  }

  private def isTighter(next: BinaryComparison, old: BinaryComparison): Boolean =
    next.getClass == old.getClass && next.left.semanticEquals(old.left)

  private def filtered(child: LogicalPlan, limits: Seq[Expression]): LogicalPlan =
    limits.filter(_.references.subsetOf(child.outputSet)).map(ImpliedLimit(_))
      .reduceOption[Expression](And(_, _))
      .fold(child)(limit => PushDownPredicates(Filter(limit, child)))

  /** A filter would compute it once more, on its way down. */
  private def isComputed(plan: LogicalPlan, column: Attribute): Boolean = plan.exists {
    case Project(columns, child) => columns.exists {
        case alias: Alias if alias.exprId == column.exprId =>
          alias.child match {
            case from: Attribute => isComputed(child, from)
            case _               => true
          }
        case _ => false
      }
    case union: Union =>
      val place = union.output.indexWhere(_.exprId == column.exprId)
      place >= 0 && union.children.exists(child => isComputed(child, child.output(place)))
    case _ => false
  }

  /** Whether rows of a side that match nothing are not in the result, and change nothing of it. */
  private def mayFilter(joinType: JoinType, side: Side): Boolean =
    JoinTypeBehavior.of(joinType, streamed = side).exists(!_.visitsAllStreamed)

  private def knownValues(limits: Seq[Comparison])(column: Attribute): KnownValues = {
    val ordering = TypeUtils.getInterpretedOrdering(column.dataType)
    // Where no row can be, as with a NULL, nothing is to be filtered.
    val least = limits.collect {
      case Comparison(Literal(v, _), e, _, _) if v != null && e.semanticEquals(column) => v
    }
    val greatest = limits.collect {
      case Comparison(e, Literal(v, _), _, _) if v != null && e.semanticEquals(column) => v
    }
    KnownValues(
      least.reduceOption(ordering.max(_, _)),
      greatest.reduceOption(ordering.min(_, _)))
  }

  /** The comparisons with a literal that a predicate is. */
  private def limitsOf(predicate: Expression): Seq[Comparison] = {
    val comparisons = predicate match {
      case ImpliedLimit(limit) => Comparison.of(limit).toSeq
      case EqualTo(a, b)       =>
        Seq(LessThanOrEqual(a, b), LessThanOrEqual(b, a)).flatMap(Comparison.of(_))
      case other => Comparison.of(other).toSeq
    }
    comparisons.filter(c => c.lesser.isInstanceOf[Literal] || c.greater.isInstanceOf[Literal])
  }
}
