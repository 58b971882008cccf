// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.SQLConfHelper
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.{AGGREGATE, JOIN, WINDOW}
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.condition.{Predicates, RangeExtractor}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.plan.{Demand, WantedPairs}
import org.apache.spark.sql.rangejoin.shims.ReplacedExpressions
import org.apache.spark.sql.types.IntegerType

/**
 * Ranks pairs that a query joins with the latest of the same pairs, as feature stores write it:
 *
 * {{{
 *   WITH pairs AS (SELECT l.id, r.* FROM l JOIN r ON l.k = r.k AND r.t <= l.t)
 *   SELECT pairs.* FROM pairs JOIN (SELECT id, max(t) AS t FROM pairs GROUP BY id) USING (id, t)
 * }}}
 *
 * What comes out are the pairs with the rank 1 by `t DESC` among those of their `id`. Ranked, the range join makes no other
 * pairs, and makes them once. The latest may as well be found by `row_number() = 1`, and by further columns; and of pairs
 * of which only those with the latest `c` of each `id` and `t` are left, if they are ranked by `t DESC, c DESC`.
 *
 * Only where a range join finds the best matches: elsewhere a window may be slower than the join.
 */
private[rewrite] object JoinedBack extends SQLConfHelper {

  def apply(plan: LogicalPlan): LogicalPlan =
    if (!mayBeIn(plan)) plan
    else plan.transformUp { case join: Join => of(join).getOrElse(join) }

  /** Whether a plan has the operators for it. */
  def mayBeIn(plan: LogicalPlan): Boolean =
    plan.containsPattern(JOIN) && plan.containsAnyPattern(AGGREGATE, WINDOW) &&
      conf.getConf(RangeJoinConf.BestMatches)

  /** Whether it may be in common table expressions: one with a join is read twice. */
  def mayBeRead(ctes: WithCTE): Boolean = mayBeIn(ctes) && {
    val read = ctes.collect { case ref: CTERelationRef => ref.cteId }
    ctes.cteDefs.exists(cte => cte.containsPattern(JOIN) && read.count(_ == cte.id) > 1)
  }

  /** The rows of a join, by a ranking; None if it is no such join, or no range join finds them. */
  def of(join: Join): Option[LogicalPlan] = firstsOf(join).flatMap { first =>
    import first.{isOfKnown, keys, order, rows}
    val known = (keys ++ order.map(_.child)).map(IsNotNull(_): Expression).reduce(And(_, _))
    val ranked = if (isOfKnown) Filter(known, rows) else rows
    val (ranks, rank) = RankedMatches.numbered(ranked, Rank(order.map(_.child)), keys, order)
    val best = Filter(And(EqualTo(rank, Literal(1, IntegerType)), known), ranks)
    if (!rows.deterministic || !isServed(rows, Demand.below(best, ranks))) None
    else {
      val columns = join.output.map { column =>
        val same = first.columns(column)
        if (same.exprId == column.exprId) column else NumberedRows.named(same, column)
      }
      Some(Project(columns, best))
    }
  }

  /** All that tie for the first place of their group, if a join gives them. */
  def firstsOf(join: Join): Option[FirstOfGroups] = join match {
    case Join(left, right, Inner, Some(condition), JoinHint.NONE) if mayBeIn(join) =>
      val equal = Predicates.split(condition).map {
        case EqualTo(a: Attribute, b: Attribute) => Some(a -> b)
        case _                                   => None
      }
      if (equal.exists(_.isEmpty)) None
      else {
        firstsOf(join, left, right, equal.flatten)
          .orElse(firstsOf(join, right, left, equal.flatten))
      }
    case _ => None
  }

  /**
   * @param latest the side that gives one row of each group
   * @param equal columns that are to be equal, of either side
   */
  private def firstsOf(
      join: Join,
      rows: LogicalPlan,
      latest: LogicalPlan,
      equal: Seq[(Attribute, Attribute)]): Option[FirstOfGroups] = {
    def isPair(a: Attribute, b: Attribute) =
      latest.outputSet.contains(a) && rows.outputSet.contains(b)
    val ofRows = AttributeMap(equal.collect {
      case (a, b) if isPair(a, b) => a -> b
      case (a, b) if isPair(b, a) => b -> a
    })
    for {
      // One condition for each column.
      _ <- Option(equal).filter(_.size == ofRows.size)
      // The row's own columns take the place of those that they are equal to.
      if latest.output.forall(column => NumberedRows.areEqualSame(column.dataType))
      first <- FirstOfGroups.of(latest)
      same <- SameRows.of(first.rows, rows)
      // Each column is compared with itself, and each of the ranking is compared.
      if latest.output.forall(column => ofRows.get(column).exists(same(first.columns(column), _)))
      here = AttributeMap(latest.output.map(column => first.columns(column) -> ofRows(column)))
      // Another column may be NULL, or differ among rows that tie: then rows of the first rank are not equal.
      if AttributeSet(here.keys) == AttributeSet(first.ranked)
    } yield FirstOfGroups(
      rows,
      first.keys.map(here),
      first.order.map(o => o.copy(child = here(o.child.asInstanceOf[Attribute]))),
      first.isOfKnown,
      AttributeMap(join.output.map(column => column -> ofRows.getOrElse(column, column)))
    )
  }

  /**
   * Whether a range join finds the best matches.
   *
   * @param asked by filters above, which the optimizer has not put into the join yet
   */
  private def isServed(plan: LogicalPlan, demand: Demand, asked: Seq[Expression] = Nil): Boolean = {
    val (core, columns) = SameRows.named(plan)
    val names = columns.toSeq.map { case (name, column) => Alias(column, name.name)(name.exprId) }
    val (wanted, askedHere) = (
      demand.below(names),
      asked.map(_.transform { case a: Attribute => columns.getOrElse(a, a) }))
    cond(core) {
      case Filter(condition, child)              => isServed(child, wanted, askedHere :+ condition)
      case project: Project if askedHere.isEmpty =>
        isServed(project.child, wanted.below(project), askedHere)
      case join: Join
          if askedHere.isEmpty || join.joinType == Inner =>
        val conditions = join.condition ++ askedHere
        isServedBy(join.copy(condition = conditions.reduceOption(And(_, _))), wanted)
    }
  }

  private def isServedBy(join: Join, demand: Demand): Boolean =
    demand.best.flatMap(_.of(join.left.outputSet, join.right.outputSet).toOption).exists { best =>
      val streamed = best.streamedSide(join.left.outputSet)
      // The optimizer has not come to it yet.
      val asked = join.copy(condition = join.condition.map(ReplacedExpressions(_)))
      WantedPairs.areAll(join.joinType, streamed) &&
      Predicates.conditionBesideKeys(join).isDefined &&
      RangeExtractor.extract(asked, Some(streamed)).exists(BestOrder.of(_, best).isDefined)
    }
}

/**
 * Rows that come first in their group, by an order.
 *
 * @param rows what is grouped
 * @param keys of `rows`, as all columns here but the keys of `columns`
 * @param order of columns
 * @param isOfKnown whether rows with a NULL in these columns are left out
 * @param columns by column of the plan
 */
private[rewrite] case class FirstOfGroups(
    rows: LogicalPlan,
    keys: Seq[Attribute],
    order: Seq[SortOrder],
    isOfKnown: Boolean,
    columns: AttributeMap[Attribute]) {

  def ranked: Seq[Attribute] = keys ++ order.map(_.child).collect { case a: Attribute => a }
}

private[rewrite] object FirstOfGroups {

  /** The rows of a plan, if they are one of each group; None where there is more in it. */
  def of(plan: LogicalPlan): Option[FirstOfGroups] = {
    val (core, names) = SameRows.named(plan)
    val found = core match {
      case aggregate: Aggregate     => ofExtremes(aggregate)
      case Filter(condition, child) => ofNumbers(condition, child)
      case _                        => None
    }
    found.map(withoutFinerGroups)
      .map(first => first.copy(columns = through(names, first.columns)))
      .filter(first => plan.output.forall(first.columns.contains))
  }

  private def through(
      names: AttributeMap[Attribute],
      below: AttributeMap[Attribute]): AttributeMap[Attribute] =
    AttributeMap(names.toSeq.flatMap { case (name, column) => below.get(column).map(name -> _) })

  private def ofExtremes(aggregate: Aggregate): Option[FirstOfGroups] = {
    val keys = aggregate.groupingExpressions.collect { case a: Attribute => a }
    val columns = aggregate.aggregateExpressions.collect {
      case a: Attribute                   => a -> a
      case alias @ Alias(a: Attribute, _) => alias.toAttribute -> a
      case alias @ Alias(AggregateExpression(Extreme(a, _), Complete, false, None, _), _) =>
        alias.toAttribute -> a
    }
    val orders = aggregate.aggregateExpressions.flatMap(_.collect {
      case AggregateExpression(Extreme(a, direction), _, _, _, _) =>
        SortOrder(a, direction)
    })
    if (keys.nonEmpty && keys.size == aggregate.groupingExpressions.size && orders.size == 1 &&
      columns.size == aggregate.aggregateExpressions.size)
      // A NULL is passed over.
      Some(FirstOfGroups(aggregate.child, keys, orders, isOfKnown = true, AttributeMap(columns)))
    else None
  }

  private object Extreme {
    def unapply(function: AggregateFunction): Option[(Attribute, SortDirection)] =
      condOpt(function) {
        case Max(a: Attribute) => a -> Descending
        case Min(a: Attribute) => a -> Ascending
      }
  }

  private def ofNumbers(condition: Expression, child: LogicalPlan): Option[FirstOfGroups] = {
    val (core, columns) = SameRows.named(child)
    (condition, core) match {
      case (IsFirst(number), window: Window)
          if columns.get(number).exists(isNumberOf(window, _)) =>
        of(window.child, window.partitionSpec, window.orderSpec).map(_.copy(columns = columns))
      case _ => None
    }
  }

  private def isNumberOf(window: Window, column: Attribute): Boolean =
    cond(window.windowExpressions) {
      case Seq(number @ Alias(WindowExpression(_: RowNumber, _), _)) =>
        number.exprId == column.exprId
    }

  private def of(
      rows: LogicalPlan,
      keys: Seq[Expression],
      order: Seq[SortOrder]): Option[FirstOfGroups] =
    if (keys.nonEmpty && (keys ++ order.map(_.child)).forall(_.isInstanceOf[Attribute])) {
      val columns = keys.collect { case a: Attribute => a }
      Some(FirstOfGroups(rows, columns, order, isOfKnown = false, AttributeMap.empty))
    } else None

  /** The number that is to be 1. */
  private object IsFirst {
    def unapply(condition: Expression): Option[Attribute] = condOpt(condition) {
      case EqualTo(number: Attribute, IntegerLiteral(1))         => number
      case LessThanOrEqual(number: Attribute, IntegerLiteral(1)) => number
      case LessThan(number: Attribute, IntegerLiteral(2))        => number
    }
  }

  /**
   * The first row of a group is the first of its part of the group, too: it does not matter whether those that are not
   * have been left out before.
   */
  private def withoutFinerGroups(first: FirstOfGroups): FirstOfGroups = {
    val (core, names) = SameRows.named(first.rows)
    val finer = condOpt(core) { case join: Join => join }.flatMap(JoinedBack.firstsOf)
    finer.flatMap { part =>
      val below = through(names, part.columns)
      val (before, last) = first.order.map(o =>
        o.copy(child = o.child.transform {
          case a: Attribute => below.getOrElse(a, a)
        })).splitAt(first.order.size - part.order.size)
      val keys = first.keys.flatMap(below.get)
      // By row_number() a part whose first row has a NULL is lost as a whole; a rank of the others would find another row.
      val isFiner = part.isOfKnown && keys.size == first.keys.size &&
        AttributeSet(part.keys) == AttributeSet(keys ++ before.map(_.child)) &&
        last.map(_.canonicalized) == part.order.map(_.canonicalized)
      if (isFiner)
        Some(FirstOfGroups(part.rows, keys, before ++ last, true, through(first.columns, below)))
      else None
    }.getOrElse(first)
  }
}

/** Two plans that give the same rows, with other names and perhaps other columns of them. */
private[rewrite] object SameRows {

  /** Whether a column of one plan and one of the other are the same; None where the rows are not. */
  def of(a: LogicalPlan, b: LogicalPlan): Option[(Attribute, Attribute) => Boolean] = {
    val ((coreA, ofA), (coreB, ofB)) = (named(a), named(b))
    def position(core: LogicalPlan, column: Option[Attribute]) =
      column.map(c => core.output.indexWhere(_.exprId == c.exprId)).filter(_ >= 0)
    // Two plans are the same to Spark if they add in another order, which may give another sum.
    val hasOrderedTerms = coreA.exists(_.expressions.exists(Predicates.hasTermsInOrder))
    if (hasOrderedTerms || !CorrelatedRows.areSame(coreA, coreB)) None
    else Some((x, y) =>
      position(coreA, ofA.get(x)).exists(position(coreB, ofB.get(y)).contains))
  }

  /** A plan without what names and leaves out columns alone, and which column of it each column is. */
  def named(plan: LogicalPlan): (LogicalPlan, AttributeMap[Attribute]) = plan match {
    case SubqueryAlias(_, child)                                          => named(child)
    case view: View                                                       => named(view.child)
    case Project(columns, child) if columns.forall(columnOf(_).isDefined) =>
      val (core, below) = named(child)
      core -> AttributeMap(for {
        column <- columns
        source <- columnOf(column).flatMap(below.get)
      } yield column.toAttribute -> source)
    case core => core -> AttributeMap(core.output.map(a => a -> a))
  }

  private def columnOf(column: NamedExpression): Option[Attribute] = condOpt(column) {
    case a: Attribute           => a
    case Alias(a: Attribute, _) => a
    // Views cast every column, most of them to the type that it has.
    case Alias(Cast(a: Attribute, to, _, _), _) if to == a.dataType => a
  }
}
