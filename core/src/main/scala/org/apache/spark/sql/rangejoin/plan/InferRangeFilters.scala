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
 * the scan, which may leave out files by them ([[PruneLimitedScans]]) and partitions. Spark makes joins of `EXISTS` and `IN` later.
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
    lazy val constraints = (join.left.constraints ++ join.right.constraints).toSeq.map {
      case ImpliedLimit(limit) => limit
      case other               => other
    }

    @tailrec def settle(found: Seq[BinaryComparison], steps: Int): Seq[BinaryComparison] = {
      val next = for {
        (side, child) <- sides
        limit <- ImpliedLimits.of(range, side, knownValues(constraints ++ found))
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
  private def mayFilter(joinType: JoinType, side: Side): Boolean = joinType match {
    case _: InnerLike | LeftSemi => true
    case LeftOuter | LeftAnti    => side == RightSide
    case RightOuter              => side == LeftSide
    case _                       => false
  }

  private def knownValues(constraints: Iterable[Expression])(column: Attribute): KnownValues = {
    val ordering = TypeUtils.getInterpretedOrdering(column.dataType)
    def isColumn(e: Expression) = e.semanticEquals(column)
    val (least, greatest) = constraints.collect {
      case EqualTo(e, Literal(v, _)) if isColumn(e)            => (Some(v), Some(v))
      case EqualTo(Literal(v, _), e) if isColumn(e)            => (Some(v), Some(v))
      case GreaterThanOrEqual(e, Literal(v, _)) if isColumn(e) => (Some(v), None)
      case GreaterThan(e, Literal(v, _)) if isColumn(e)        => (Some(v), None)
      case LessThanOrEqual(Literal(v, _), e) if isColumn(e)    => (Some(v), None)
      case LessThan(Literal(v, _), e) if isColumn(e)           => (Some(v), None)
      case LessThanOrEqual(e, Literal(v, _)) if isColumn(e)    => (None, Some(v))
      case LessThan(e, Literal(v, _)) if isColumn(e)           => (None, Some(v))
      case GreaterThanOrEqual(Literal(v, _), e) if isColumn(e) => (None, Some(v))
      case GreaterThan(Literal(v, _), e) if isColumn(e)        => (None, Some(v))
    }.unzip
    // Where no row can be, as with a NULL, nothing is to be filtered.
    KnownValues(
      least.flatten.filter(_ != null).reduceOption(ordering.max(_, _)),
      greatest.flatten.filter(_ != null).reduceOption(ordering.min(_, _)))
  }
}
