// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import scala.PartialFunction.cond
import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.JOIN
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

/**
 * If a query limits the range column of one side, filters the other side before the join:
 * `e.at BETWEEN w.start AND w.stop` and `e.at >= '2024-01-01'` imply `w.stop >= '2024-01-01'`. Stock Spark infers this
 * for equal columns only.
 *
 * Runs once, after predicate pushdown (a pre-CBO rule), and pushes its own filters down to the
 * scan, which may skip partitions and files by them ([[ShownLimits]], [[PruneScans]]).
 * `EXISTS` and `IN` are left out: Spark turns them into joins only later.
 */
object InferRangeFilters extends Rule[LogicalPlan] {

  /**
   * Maximum number of rounds in which limits spread from join to join, and from column to column
   * within a join.
   */
  private val MostSteps = 5

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(RangeJoinConf.Enabled) || !conf.getConf(RangeJoinConf.InferFilters)) plan
    else if (!plan.containsPattern(JOIN) || !plan.exists(hasLimit)) plan
    else settled(plan, new SharedSides(plan), MostSteps)

  /** Deriving constraints takes time, and most queries have none that help here. */
  private def hasLimit(plan: LogicalPlan): Boolean = cond(plan) {
    case Filter(condition, _) => condition.exists(cond(_) {
        case comparison: BinaryComparison => comparison.children.exists(_.isInstanceOf[Literal])
      })
  }

  @tailrec
  private def settled(plan: LogicalPlan, shared: SharedSides, steps: Int): LogicalPlan = {
    // Limits go up as joins are visited. Another round is needed if limits have gone down to another join.
    var goOn = false
    val next = plan.transformUpWithPruning(_.containsPattern(JOIN)) {
      case join: Join if !join.isStreaming && join.condition.exists(RangeExtractor.hasComparison) =>
        val found = inferred(join, shared)
        goOn ||= found.children.zip(join.children).exists { case (now, before) =>
          before.containsPattern(JOIN) && !now.fastEquals(before)
        }
        found
    }
    if (!goOn || steps == 1) next else settled(next, shared, steps - 1)
  }

  private def inferred(join: Join, shared: SharedSides): LogicalPlan = {
    val limits = RangeExtractor.extract(join, streamed = None).fold(_ => Nil, implied(join, _))
    def side(child: LogicalPlan) =
      if (limits.isEmpty || shared(child) || ShownLimits.wouldHinder(child)) child
      else filtered(child, limits)
    join.withNewChildren(Seq(side(join.left), side(join.right)))
  }

  /**
   * The limits that follow from the range. Limits of one column may imply limits of another, and
   * vice versa. Nil if they still tighten after `MostSteps` rounds.
   */
  private def implied(join: Join, range: RangeCondition): Seq[BinaryComparison] = {
    val sides = Side.Both.filter(mayFilter(join.joinType, _))
    lazy val written = (join.left.constraints.toSeq ++ join.right.constraints).flatMap(limitsOf)

    @tailrec def settle(found: Seq[BinaryComparison], steps: Int): Seq[BinaryComparison] = {
      val next = for {
        side <- sides
        limit <-
          ImpliedLimits.of(range, side, knownValues(written ++ found.flatMap(Comparison.of(_))))
        if !isComputed(side.of(join), limit.references.head)
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
      .fold(child)(limit => ShownLimits.in(PushDownPredicates(Filter(limit, child))))

  /**
   * Whether the column is computed below: a filter pushed down there would compute it a second time.
   */
  private def isComputed(plan: LogicalPlan, column: Attribute): Boolean = {
    def isAmong(columns: Seq[NamedExpression], child: LogicalPlan) =
      columns.find(_.exprId == column.exprId).exists(cond(_) {
        case Alias(from: Attribute, _) => isComputed(child, from)
        // A filter on an aggregated value stays above the aggregate.
        case Alias(other, _) => !other.exists(_.isInstanceOf[AggregateExpression])
      })
    plan.exists(cond(_) {
      case Project(columns, child) => isAmong(columns, child)
      case aggregate: Aggregate    => isAmong(aggregate.aggregateExpressions, aggregate.child)
      case union: Union            =>
        val ordinal = union.output.indexWhere(_.exprId == column.exprId)
        ordinal >= 0 && union.children.exists(child => isComputed(child, child.output(ordinal)))
    })
  }

  /**
   * Sides of joins that occur elsewhere in the plan as well, whole or as a part that needs a shuffle. Spark computes
   * such a part once and reuses its exchange (`ReusedExchange`), unless it is filtered differently here. If the whole
   * join occurs again, both occurrences get the same filters. A subquery is planned by itself: whether the query has
   * such a part as well is not known there.
   */
  private final class SharedSides(plan: LogicalPlan) {

    private val isOfSubquery = plan.isInstanceOf[Subquery]

    private lazy val occurrences: Map[LogicalPlan, Int] =
      plan.collectWithSubqueries { case node if !isAsItsChild(node) => shuffled(node) }
        .groupBy(identity).map { case (node, all) => node -> all.size }

    /**
     * A projection that only renames columns has the canonical form of its child, and is not counted.
     */
    private def isAsItsChild(node: LogicalPlan): Boolean =
      node.children.exists(_.canonicalized == node.canonicalized)

    /** Tells apart what Spark shuffles: an aggregate by its groups and functions, whatever is computed of these. */
    private def shuffled(node: LogicalPlan): LogicalPlan = node match {
      case aggregate: Aggregate =>
        val functions = aggregate.aggregateExpressions.flatMap(_.collect {
          case function: AggregateExpression => function
        })
        aggregate.copy(aggregateExpressions = functions.map(Alias(_, "function")())).canonicalized
      // As the child is counted.
      case other if isAsItsChild(other) => shuffled(other.children.head)
      case other                        => other.canonicalized
    }

    // Identified by their columns, since the node changes when filters are inserted.
    private lazy val sides: Set[Set[ExprId]] = plan.collect { case join: Join =>
      join.children.filter { side =>
        (isOfSubquery && side.exists(!isCheap(_))) || isShared(side, join)
      }.map(columns)
    }.flatten.toSet

    private def isShared(side: LogicalPlan, join: Join): Boolean = {
      val joined = occurrences(join.canonicalized)
      side.exists { node =>
        ((node eq side) || !isCheap(node)) && occurrences(shuffled(node)) > joined
      }
    }

    def apply(side: LogicalPlan): Boolean = sides(columns(side))

    private def columns(side: LogicalPlan): Set[ExprId] = side.output.map(_.exprId).toSet

    private def isCheap(node: LogicalPlan): Boolean =
      cond(node) { case _: LeafNode | _: Project | _: Filter => true }
  }

  /** Whether rows of this side that match nothing can be dropped without changing the result. */
  private def mayFilter(joinType: JoinType, side: Side): Boolean =
    JoinTypeBehavior.of(joinType, streamed = side).exists(!_.visitsAllStreamed)

  private def knownValues(limits: Seq[Comparison])(column: Attribute): KnownValues = {
    val ordering = TypeUtils.getInterpretedOrdering(column.dataType)
    // A limit of NULL leaves no rows, so there is nothing to filter.
    val least = limits.collect {
      case Comparison(Literal(v, _), e, _, _) if v != null && e.semanticEquals(column) => v
    }
    val greatest = limits.collect {
      case Comparison(e, Literal(v, _), _, _) if v != null && e.semanticEquals(column) => v
    }
    KnownValues(least.reduceOption(ordering.max(_, _)), greatest.reduceOption(ordering.min(_, _)))
  }

  /** The comparisons with a literal that a predicate stands for. */
  private def limitsOf(predicate: Expression): Seq[Comparison] = {
    val read = predicate match {
      case ImpliedLimit(limit) => Seq(limit)
      case EqualTo(a, b)       => Seq(LessThanOrEqual(a, b), LessThanOrEqual(b, a))
      case other               => Seq(other)
    }
    read.flatMap(Comparison.of(_)).filter(c =>
      c.lesser.isInstanceOf[Literal] || c.greater.isInstanceOf[Literal])
  }
}
