// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.hint

import scala.PartialFunction.{cond, condOpt}
import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  Literal,
  NamedExpression,
  StringLiteral
}
import org.apache.spark.sql.catalyst.optimizer.EliminateResolvedHint
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.UNRESOLVED_HINT
import org.apache.spark.sql.rangejoin.shims.Hints
import org.apache.spark.sql.types.Decimal

/**
 * Resolves `RANGE_JOIN(relation, ..., bin size)`: puts a [[RangeJoinHint]] on the relations it names, or on its whole
 * child if it names none. A name stands for a relation by Spark's rule for join hints: the alias, or the last parts of
 * the name where there is no alias, within one query block.
 *
 * The bin size has to be a positive number and is not used. A hint that makes no sense is dropped with a warning of
 * Spark's `HintErrorHandler`, never an error.
 */
object ResolveRangeJoinHint extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.resolveOperatorsUpWithPruning(_.containsPattern(UNRESOLVED_HINT)) {
      case hint: UnresolvedHint if hint.name.equalsIgnoreCase(RangeJoinHint.Name) => resolve(hint)
    }

  private def resolve(hint: UnresolvedHint): LogicalPlan = {
    val parameters = Hints.parameters(hint)
    val relations = parameters.flatMap(relationOf(_))
    parameters.filter(relationOf(_).isEmpty).find(!isPositiveNumber(_)) match {
      case Some(wrong) =>
        conf.hintErrorHandler.joinHintNotSupported(
          new RangeJoinHint(None),
          s"the bin size ${wrong.sql} is not a positive number")
        hint.child
      case None if relations.isEmpty => withRangeJoin(hint.child, None)
      case None                      =>
        val found = mutable.Set.empty[Seq[String]]
        val hinted = onRelations(hint.child, relations, found)
        conf.hintErrorHandler
          .hintRelationsNotFound(hint.name, hint.parameters, relations.toSet -- found)
        hinted
    }
  }

  /** The parts of the name where a parameter is one. */
  private def relationOf(parameter: Expression): Option[Seq[String]] = condOpt(parameter) {
    case name: UnresolvedAttribute => name.nameParts
    // There is a column of that name, and rules for columns came first.
    case column: NamedExpression => Seq(column.name)
    // A string that is no valid name matches no relation.
    case StringLiteral(name) =>
      Try(UnresolvedAttribute.parseAttributeName(name)).getOrElse(Seq(name))
  }

  private def isPositiveNumber(size: Expression): Boolean = cond(size) {
    case Literal(n: Decimal, _)          => n > Decimal.ZERO
    case Literal(n: java.lang.Number, t) =>
      t.isInstanceOf[org.apache.spark.sql.types.NumericType] && n.doubleValue > 0 &&
      !n.doubleValue.isInfinite
  }

  /** Puts the hint on the relations of a query block that are named. */
  private def onRelations(
      plan: LogicalPlan,
      named: Seq[Seq[String]],
      found: mutable.Set[Seq[String]]
  ): LogicalPlan = {
    def isNamed(relation: LogicalPlan): Boolean = nameOf(relation).exists { name =>
      val matching = named.filter(endsWith(name, _))
      found ++= matching
      matching.nonEmpty
    }
    plan match {
      case ResolvedHint(relation, other) if isNamed(relation) =>
        withRangeJoin(relation, other.strategy)
      case relation if isNamed(relation)                  => withRangeJoin(relation, None)
      case _: SubqueryAlias | _: View | _: UnresolvedWith => plan
      case _ => plan.mapChildren(onRelations(_, named, found))
    }
  }

  private def nameOf(relation: LogicalPlan): Option[Seq[String]] = condOpt(relation) {
    case table: UnresolvedRelation => table.multipartIdentifier
    case alias: SubqueryAlias      => alias.identifier.qualifier :+ alias.identifier.name
  }

  private def endsWith(name: Seq[String], end: Seq[String]): Boolean =
    end.size <= name.size && name.takeRight(end.size).zip(end).forall { case (a, b) =>
      conf.resolver(a, b)
    }

  private def withRangeJoin(plan: LogicalPlan, strategy: Option[JoinStrategyHint]): LogicalPlan =
    ResolvedHint(plan, new RangeJoinHint(strategy))
}

/**
 * Makes a hint above `RANGE_JOIN` ask for a range join, too: `BROADCAST(v)`, where the view `v` has a `RANGE_JOIN`.
 * Spark merges the hints of one side of a join from the top down, and keeps the class of the first.
 */
object KeepRangeJoinHint extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case hint @ ResolvedHint(child, info) if !isRangeJoin(info) && asksBelow(child) =>
      hint.copy(hints = new RangeJoinHint(info.strategy))
  }

  private def asksBelow(plan: LogicalPlan): Boolean =
    EliminateResolvedHint.extractHintsFromPlan(plan)._2.exists(isRangeJoin)

  private def isRangeJoin(hint: HintInfo): Boolean = hint.isInstanceOf[RangeJoinHint]
}
