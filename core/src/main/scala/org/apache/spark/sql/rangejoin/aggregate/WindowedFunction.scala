// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.rangejoin.condition.{
  JoinCondition,
  LeftSide,
  Predicates,
  RangeCondition,
  RangeExtractor,
  Side,
  UnknownBounds
}
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.sql.rangejoin.kernel.{NullBound, RangeBound}
import org.apache.spark.sql.types.DataType

/**
 * A function of those matches of a streamed row that lie in a window of their own, within the range of the join:
 *
 * {{{
 *   SELECT l.id, sum(r.x), sum(CASE WHEN r.t >= l.t - 3 THEN r.x END), count(*) FILTER (WHERE r.t >= l.t - 7)
 *   FROM l JOIN r ON l.k = r.k AND r.t BETWEEN l.t - 30 AND l.t GROUP BY l.id
 * }}}
 *
 * The matches are a run of rows in the order of `r.t`, and a window is a part of that run, whose ends are searched for.
 *
 * @param inside what is aggregated of the matches in the window, of buffered columns
 * @param outside what each other match gives instead, of streamed columns (`ELSE 0`); None if it gives nothing
 * @param window which matches are in the window
 * @param guard of streamed columns: without it no match is in the window
 */
private[rangejoin] case class WindowedFunction(
    inside: AggregateExpression,
    outside: Option[AggregateExpression],
    window: RangeCondition,
    guard: Option[Expression]) {

  /**
   * Whether the window is a part of each run.
   *
   * @param ordered what runs are in the order of
   */
  def isPartOfRuns(ordered: RangeBound): Boolean =
    WindowedFunction.longsOf(ordered).isDefined && bounds.forall { bound =>
      WindowedFunction.isKnown(bound) && Predicates.haveSameLong(bound.child, ordered.child)
    } &&
      // A filter of rows that give something outside of the window is that their value is not NULL.
      (outside.isEmpty || inside.filter.isEmpty || !ordered.readsNull)

  /** The bounds of a buffered row. */
  def bounds: Seq[RangeBound] = (window.sortBound ++ window.evictBound).toSeq

  /** Whether two functions have one window, and what is outside of it matters to both of them or to neither. */
  def isBeside(other: WindowedFunction): Boolean =
    outside.isDefined == other.outside.isDefined && areSame(guard, other.guard) &&
      areSame(window.lowerBound, other.window.lowerBound) &&
      areSame(window.upperBound, other.window.upperBound)

  private def areSame(a: Option[Expression], b: Option[Expression]): Boolean =
    a.map(_.canonicalized) == b.map(_.canonicalized)
}

private[rangejoin] object WindowedFunction {

  /** Whether a bound of a row is its value, and is never unknown. */
  private def isKnown(bound: RangeBound): Boolean = !UnknownBounds.mayBe(bound)

  /** The longs of values in the order of a bound, where no other rows are among them; else None. */
  private def longsOf(bound: RangeBound): Option[ValueLongs] =
    if (!isKnown(bound.copy(nulls = None))) None
    else {
      condOpt(bound.nulls) {
        case None                         => ValueLongs(Long.MinValue, Long.MaxValue)
        case Some(NullBound.BeforeValues) => ValueLongs.BehindNulls
        case Some(NullBound.NoMatch)      =>
          ValueLongs(Long.MinValue, RangeBound.GreatestBehindNulls)
      }
    }

  /**
   * Functions of both sides in groups, each with its number; each group has one window. Empty if a function is of no
   * window that the join finds: then it needs pairs.
   */
  def groups(
      functions: Seq[AggregateExpression],
      join: RangeJoinExec): Seq[Seq[(Int, WindowedFunction)]] = {
    val found = functions.map(of(_, join))
    if (!found.forall(_.isDefined)) Nil
    else found.flatten.zipWithIndex.map(_.swap)
      .foldLeft(Seq.empty[Seq[(Int, WindowedFunction)]]) { (groups, next) =>
        val at = groups.indexWhere(_.head._2.isBeside(next._2))
        if (at < 0) groups :+ Seq(next) else groups.updated(at, groups(at) :+ next)
      }
  }

  /** The function of a window of a join's matches; None where it is none, or its window is no part of a run. */
  def of(function: AggregateExpression, join: RangeJoinExec): Option[WindowedFunction] =
    for {
      side <- join.aggregatedFor
      ordered <- join.sortBound
      found <- of(function, join.left.outputSet, join.right.outputSet, side)
      if found.isPartOfRuns(ordered) && !join.hasResidual
    } yield found

  /**
   * What a task needs of functions of one window.
   *
   * @param ordered what runs are in the order of
   */
  def inTask(
      functions: Seq[WindowedFunction],
      ordered: RangeBound,
      streamed: Seq[Attribute],
      buffered: Seq[Attribute]): RunWindow = {
    val (window, outside) = (functions.head.window, functions.flatMap(_.outside))
    RunWindow(
      window.lowerBound.map(bindReference[Expression](_, streamed)),
      window.upperBound.map(bindReference[Expression](_, streamed)),
      window.unknown,
      longsOf(ordered).get,
      functions.head.guard.map(bindReference(_, streamed)),
      MatchAggregation.of(functions.map(_.inside), buffered),
      if (outside.isEmpty) None else Some(MatchAggregation.of(outside, streamed))
    )
  }

  /** None for a function that is no such function of the matches of this side's rows. */
  def of(
      function: AggregateExpression,
      left: AttributeSet,
      right: AttributeSet,
      streamed: Side): Option[WindowedFunction] = {
    val (ofStreamed, ofBuffered) = if (streamed == LeftSide) (left, right) else (right, left)
    def reads(side: AttributeSet)(e: Expression) = e.references.subsetOf(side)
    for {
      choice <- choiceOf(function, reads(ofBuffered))
      if choice.condition.deterministic && !choice.condition.exists(isComputedElsewhere)
      conjuncts = Predicates.split(choice.condition)
      (beside, windowed) = conjuncts.partition(e => reads(ofStreamed)(e) || reads(ofBuffered)(e))
      (buffered, guards) = beside.partition(reads(ofBuffered))
      // Stock Spark evaluates conjuncts in their order, of each match as far as the first that is false. It goes on
      // behind one that is NULL, as no row of the window is.
      (before, inWindow) = conjuncts.splitAt(conjuncts.lastIndexWhere(windowed.contains) + 1)
      isAsked = before.forall(!_.nullable) && inWindow.forall(reads(ofBuffered))
      if beside.forall(e =>
        Predicates.neverRaises(e) || isAsked && reads(ofBuffered)(e) && inWindow.exists(_.eq(e)))
      // It is not counted how many matches in the window such a condition refuses.
      if buffered.isEmpty || choice.outside.isEmpty
      ofWindow = windowed.map(asRange).reduceOption(And(_, _))
      window <-
        RangeExtractor.extract(JoinCondition(Inner, ofWindow, left, right, Some(streamed))).toOption
      if window.residual.isEmpty && !window.isOpen
      if reads(ofBuffered)(choice.inside) && choice.outside.forall(reads(ofStreamed))
      // Nor how many of the others a filter refuses.
      if choice.outside.isEmpty || choice.inside.filter.forall(holdsOfRuns(_, window))
    } yield {
      val filter = (choice.inside.filter ++ buffered).reduceOption(And(_, _))
      WindowedFunction(
        choice.inside.copy(filter = filter),
        choice.outside,
        window,
        guards.reduceOption(And(_, _)))
    }
  }

  /**
   * Whether a condition holds of all rows in the runs that a window is a part of: a value that runs are in the order of is
   * not NULL in a match.
   */
  private def holdsOfRuns(condition: Expression, window: RangeCondition): Boolean =
    cond(condition) {
      case IsNotNull(value) => (window.sortBound ++ window.evictBound)
          .exists(bound => Predicates.haveSameValue(bound.child, value))
    }

  /** An equality, as of a key, is no range of a join. */
  private def asRange(condition: Expression): Expression = condition match {
    case EqualTo(a, b) => And(LessThanOrEqual(a, b), GreaterThanOrEqual(a, b))
    case other         => other
  }

  /** What a function aggregates where a condition holds, and where it does not. */
  private case class Choice(
      condition: Expression,
      inside: AggregateExpression,
      outside: Option[AggregateExpression])

  private def choiceOf(
      function: AggregateExpression,
      isOfBuffered: Expression => Boolean): Option[Choice] =
    function.filter.filterNot(isOfBuffered) match {
      case Some(filter) => Some(Choice(filter, function.copy(filter = None), None))
      case None         => ofArgument(function)
    }

  private def ofArgument(function: AggregateExpression): Option[Choice] =
    function.aggregateFunction match {
      case plain @ (_: Sum | _: Average | _: Min | _: Max | _: Count | _: CentralMomentAgg)
          if plain.children.size == 1 =>
        for {
          (condition, inside, outside) <- branchesOf(plain.children.head)
          ofInside <- withArgument(function, inside)
          isNothing = isNull(outside)
          ofOutside <- if (isNothing) Some(None) else withArgument(function, outside).map(Some(_))
        } yield Choice(condition, ofInside, ofOutside.map(_.copy(filter = None)))
      case _ => None
    }

  /** A condition, the value where it holds, and the one where it does not. */
  private def branchesOf(value: Expression): Option[(Expression, Expression, Expression)] =
    value match {
      // As `count_if` has it.
      case If(negation, nothing, condition) if isNull(nothing) && isNegation(negation, condition) =>
        Some((condition, Literal.TrueLiteral, nothing))
      case If(condition, inside, outside)                => Some((condition, inside, outside))
      case CaseWhen(Seq((condition, inside)), otherwise) =>
        Some((condition, inside, otherwise.getOrElse(Literal(null, inside.dataType))))
      // As a cast, or the digits of a decimal.
      case unary: UnaryExpression if unary.deterministic =>
        branchesOf(unary.child).map { case (condition, inside, outside) =>
          def of(branch: Expression) = unary.withNewChildren(Seq(branch))
          (condition, of(inside), of(outside))
        }
      case _ => None
    }

  /** Whether it is written as the negation of a condition, or as the optimizer of some line of Spark writes that. */
  private def isNegation(negation: Expression, condition: Expression): Boolean =
    Seq(Not(condition), EqualTo(condition, Literal.FalseLiteral), negated(condition))
      .exists(_.semanticEquals(negation))

  private def negated(condition: Expression): Expression = condition match {
    case And(a, b)                => Or(negated(a), negated(b))
    case Or(a, b)                 => And(negated(a), negated(b))
    case LessThan(a, b)           => GreaterThanOrEqual(a, b)
    case LessThanOrEqual(a, b)    => GreaterThan(a, b)
    case GreaterThan(a, b)        => LessThanOrEqual(a, b)
    case GreaterThanOrEqual(a, b) => LessThan(a, b)
    case other                    => Not(other)
  }

  private def isNull(e: Expression): Boolean = cond(e) {
    case Literal(null, _)                     => true
    case unary @ (_: Cast | _: UnscaledValue) => isNull(unary.children.head)
  }

  /** The function of another argument; None if its buffer would be another one. */
  private def withArgument(
      function: AggregateExpression,
      argument: Expression): Option[AggregateExpression] = {
    def types(f: AggregateFunction): Seq[DataType] = f.aggBufferAttributes.map(_.dataType)
    val before = function.aggregateFunction
    val after = before.withNewChildren(Seq(argument)).asInstanceOf[AggregateFunction]
    if (types(after) == types(before)) Some(function.copy(aggregateFunction = after)) else None
  }

  /** Subqueries, and functions that Spark computes in nodes of their own. */
  private def isComputedElsewhere(e: Expression): Boolean =
    cond(e) { case _: PlanExpression[_] | _: PythonUDF => true }
}
