// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.PartialFunction.{cond, condOpt}
import scala.util.Left

import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.{Left => _, _}
import org.apache.spark.sql.catalyst.optimizer.InferWindowGroupLimit
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, Window, WindowGroupLimit}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.window.WindowGroupLimitExec
import org.apache.spark.sql.rangejoin.best.{BestMatches, Ranking}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.shims.{MaxByK, MinByK}

/**
 * What an operator wants of the pairs that it is given.
 *
 * @param partition what they are partitioned by
 * @param best the best of a partition, by any expression
 * @param beside other inputs the operator reads; any pair of the streamed row may supply them
 * @param readsFirst whether it reads them of the first pair that comes
 */
private[rangejoin] case class WantedPairs(
    partition: Seq[Expression],
    best: BestMatches,
    beside: Seq[Expression] = Nil,
    readsFirst: Boolean = false)
    extends AliasHelper {

  /** The same of rows that are sorted. */
  def inOrder(order: Seq[SortOrder]): WantedPairs =
    if (readsFirst) copy(beside = beside ++ order.map(_.child)) else this

  /** The same in the columns below a projection; None where it is not the same. */
  def below(projected: Seq[NamedExpression]): Option[WantedPairs] =
    if (!projected.forall(_.deterministic)) None
    else {
      val aliases = getAliasMap(projected)
      def under(e: Expression) = replaceAlias(e, aliases)
      val order = best.order.copy(child = under(best.order.child))
      Some(copy(partition.map(under), best.copy(order = order), beside.map(under)))
    }

  /**
   * The best matches that rows of one side have on the other side; or why that is not the question.
   *
   * @param keys columns that are equal in a match, and may be partitioned by instead of each other
   */
  def of(
      left: AttributeSet,
      right: AttributeSet,
      keys: Seq[(Expression, Expression)] = Nil): Either[String, BestMatches] = {
    def isOf(streamed: AttributeSet)(e: Expression) =
      e.deterministic && e.references.subsetOf(streamed)
    def isKey(e: Expression) = keys.exists { case (a, b) =>
      a.semanticEquals(e) || b.semanticEquals(e)
    }
    val sides = Seq(left -> right, right -> left).filter { case (streamed, _) =>
      beside.forall(isOf(streamed)) && partition.forall(e => isOf(streamed)(e) || isKey(e))
    }
    // Spark computes it in a node of its own, once more for each place that it is in.
    val hasPython = (best +: (partition ++ beside)).exists(_.exists(_.isInstanceOf[PythonUDF]))
    if (sides.isEmpty) Left("partition by columns of one side alone")
    else if (hasPython) Left("compute the Python function's result as a column before the join")
    else {
      sides.flatMap { case (streamed, other) => ofSides(streamed, other) }.headOption.toRight(
        s"order by a column of the other side, or by its distance from a value of the row, and not " +
          s"by ${best.order.child.sql}${if (best.isDescending) " DESC" else ""}")
    }
  }

  private def ofSides(streamed: AttributeSet, other: AttributeSet): Option[BestMatches] =
    if (best.column.isDefined) best.column.filter(other.contains).map(_ => best)
    else {
      val (number, negated) = WantedPairs.withoutSign(best.order.child)
      Distance.of(number, streamed, other).flatMap(best.by(_, negated))
    }
}

private[rangejoin] object WantedPairs {

  /** What an operator of a physical plan wants. */
  def of(plan: SparkPlan): Option[WantedPairs] = plan match {
    case limit: WindowGroupLimitExec =>
      ofRanks(limit.partitionSpec, limit.orderSpec, limit.rankLikeFunction, limit.limit)
    case aggregate: BaseAggregateExec =>
      ofExtremes(aggregate.groupingExpressions, aggregate.aggregateExpressions)
    case _ => None
  }

  /**
   * What a filter of ranks wants of the pairs below the window that ranks them: rankings of a logical plan have no limit
   * of their own yet.
   */
  def of(ranks: Filter, window: Window): Option[WantedPairs] =
    InferWindowGroupLimit(ranks).collectFirst {
      case WindowGroupLimit(partition, order, function, limit, pairs) if pairs.eq(window.child) =>
        ofRanks(partition, order, function, limit)
    }.flatten

  /** What a logical aggregate wants. */
  def of(aggregate: Aggregate): Option[WantedPairs] =
    ofExtremes(
      aggregate.groupingExpressions,
      AggregatedPairs.functionsOf(aggregate.aggregateExpressions))

  /** Whether a join emits only matching pairs and unmatched streamed rows. */
  def areAll(joinType: JoinType, streamed: Side): Boolean =
    JoinTypeBehavior.of(joinType, streamed).exists(behavior =>
      behavior.emission == EveryPair && !behavior.preservesBuffered)

  private def ofRanks(
      partition: Seq[Expression],
      order: Seq[SortOrder],
      function: Expression,
      limit: Int): Option[WantedPairs] = {
    val ranking = condOpt(function) {
      case _: RowNumber => Ranking.ofRowNumber(order)
      case _: Rank      => Ranking.Rank
      case _: DenseRank => Ranking.DenseRank
    }
    for (by <- order.headOption; ranked <- ranking if limit > 0)
      yield WantedPairs(partition, BestMatches(by.copy(sameOrderExpressions = Nil), limit, ranked))
  }

  /**
   * Aggregates that all ask for the same end of the same order. Others may accompany them if their
   * result does not depend on which pairs of a row they see, or how many.
   */
  private def ofExtremes(
      grouping: Seq[Expression],
      functions: Seq[AggregateExpression]): Option[WantedPairs] = {
    val isPlain = functions.forall(cond(_) {
      case AggregateExpression(_, Partial | Complete, false, None, _) => true
    })
    val extremes = functions.map(_.aggregateFunction).map(f => f -> extremeOf(f))
    val wanted = extremes.flatMap(_._2)
    val others = extremes.collect { case (function, None) => anyOf(function) }
    wanted.headOption
      .filter(first => isPlain && others.forall(_.isDefined) && wanted.forall(isSame(_, first)))
      .map { first =>
        // Where one function wants all that tie, the others may see them.
        val ranking = wanted.map(_.ranking).find(_ == Ranking.Rank).getOrElse(first.ranking)
        val best = first.copy(limit = wanted.map(_.limit).max, ranking = ranking)
        WantedPairs(grouping, best, others.flatten, readsFirst = others.nonEmpty)
      }
  }

  private def isSame(a: BestMatches, b: BestMatches): Boolean =
    a.order.direction == b.order.direction && a.order.nullOrdering == b.order.nullOrdering &&
      Predicates.haveSameValue(a.order.child, b.order.child)

  private def extremeOf(function: AggregateFunction): Option[BestMatches] = {
    // A NULL is passed over, and any of those that tie will do.
    def first(by: Expression, direction: SortDirection, k: Int = 1) =
      BestMatches(SortOrder(by, direction, NullsLast, Nil), k, Ranking.RowNumber)
    def extreme(value: Expression, direction: SortDirection) = firstOf(value) match {
      case all if all.eq(value) => first(all, direction)
      // In a struct a NULL is less than all values.
      case part => BestMatches(SortOrder(part, direction), 1, Ranking.Rank)
    }
    condOpt(function) {
      case MaxBy(_, order)  => first(order, Descending)
      case MinBy(_, order)  => first(order, Ascending)
      case MaxByK(order, k) => first(order, Descending, k)
      case MinByK(order, k) => first(order, Ascending, k)
      case Max(value)       => extreme(value, Descending)
      case Min(value)       => extreme(value, Ascending)
    }
  }

  /** What is read of any row; None where it matters of which, or how often. */
  private def anyOf(function: AggregateFunction): Option[Expression] =
    condOpt(function) { case First(value, _) => value }

  /** What values are compared by first. */
  private def firstOf(value: Expression): Expression = value match {
    case CreateNamedStruct(_ +: first +: _) => firstOf(first)
    case other                              => other
  }

  /** A number, and whether it is the opposite of it that was given. */
  private def withoutSign(e: Expression): (Expression, Boolean) = e match {
    case UnaryMinus(child, _) =>
      val (number, negated) = withoutSign(child)
      (number, !negated)
    case _ => (e, false)
  }
}
