// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.Predicates
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.plan.AggregatedPairs
import org.apache.spark.sql.rangejoin.shims.ReplacedExpressions

/**
 * What a correlated subquery asks of the rows of a plan that meet some conditions: the first, in some order, or what
 * functions make of them. Columns of the outer query are plain attributes here.
 *
 * @param rows without any column of the outer query
 * @param order empty where the rows are aggregated
 * @param output in the order of the subquery's columns
 * @param isTotal whether the subquery returns a row even if it finds none: an aggregate
 */
private[rewrite] case class CorrelatedRows(
    rows: LogicalPlan,
    conditions: Seq[Expression],
    order: Seq[SortOrder],
    limit: Int,
    output: Seq[NamedExpression],
    isTotal: Boolean = false) {

  /** Whether values are computed by Python, which would be called for rows without a match as well. */
  def isOfPython: Boolean = output.exists(_.exists(_.isInstanceOf[PythonUDF]))

  /** What is asked for each row of the outer query; None where no range join finds it. */
  def over(left: LogicalPlan): Option[CorrelatedRows.Found] = {
    val (ofLeft, ofRows) = (left.outputSet, rows.outputSet)
    val read = AttributeSet.fromAttributeSets(
      (conditions ++ order ++ output).map(_.references))
    val isOfBoth = read.subsetOf(ofLeft ++ ofRows) &&
      ofLeft.intersect(ofRows).isEmpty && !CorrelatedRows.isCorrelated(left)
    if (!isOfBoth) None
    else if (order.isEmpty) aggregated(left)
    else if (limit <= SQLConf.get.windowGroupLimitThreshold) ranked(left)
    else None
  }

  /** What this one and another one ask for together, of the same rows; None where these are not the same. */
  def and(other: CorrelatedRows): Option[CorrelatedRows] =
    if (!rows.deterministic || !CorrelatedRows.areSame(rows, other.rows)) None
    else {
      val columns = AttributeMap(other.rows.output.zip(rows.output))
      def here[E <: Expression](e: E): E =
        e.transform { case a: Attribute => columns.getOrElse(a, a) }.asInstanceOf[E]
      val isSame = limit == other.limit && isTotal == other.isTotal &&
        CorrelatedRows.isSame(order, other.order.map(here(_))) &&
        conditions.map(Predicates.valueForm).toSet ==
        other.conditions.map(c => Predicates.valueForm(here(c))).toSet
      if (isSame) Some(copy(output = output ++ other.output.map(here(_)))) else None
    }

  private def ranked(left: LogicalPlan): Option[CorrelatedRows.Found] =
    if (!SQLConf.get.getConf(RangeJoinConf.BestMatches)) None
    else {
      RankedMatches.of(left, rows, conditions, order, limit).map { found =>
        val columns = output.map {
          case Alias(value, _) if isTotal => value
          case Alias(value, _)            => found.onMatch(value)
          case column                     => column
        }
        CorrelatedRows.Found(found.plan, columns, if (isTotal) found.plan else found.matched)
      }
    }

  private def aggregated(left: LogicalPlan): Option[CorrelatedRows.Found] = {
    val asked = output.map(AggregatedMatches.withSets(_))
    val functions = AggregatedPairs.functionsOf(asked)
    if (functions.isEmpty) None
    else {
      AggregatedMatches.of(left, rows, conditions, functions).map { found =>
        val columns = asked.map {
          _.transform { case f: AggregateExpression => found.values(f.resultId) } match {
            case Alias(value, _) => value
            case column          => column
          }
        }
        CorrelatedRows.Found(found.plan, columns, found.plan)
      }
    }
  }

  /** False where there is no row, and its columns are NULL; None if the conditions do not tell. */
  private def isRow: Option[Expression] =
    conditions.reduceOption(And(_, _))
      .flatMap(Predicates.columnOfMatch(_, rows.output)).map(IsNotNull(_))

  private def project(columns: Seq[NamedExpression]): CorrelatedRows =
    copy(output = columns.map {
      case a: Attribute => output.find(_.exprId == a.exprId).getOrElse(a)
      case other        => named(other)
    })

  /** A column of the output, in the columns of `rows` and of the outer query. */
  private def named(column: NamedExpression): Alias = column match {
    case alias: Alias => Alias(under(alias.child), alias.name)(exprId = alias.exprId)
    case outer        => Alias(under(outer), outer.name)(exprId = outer.exprId)
  }

  /** An expression of the output in the columns of `rows` and of the outer query. */
  private def under(e: Expression): Expression = {
    val aliases = AttributeMap(output.collect { case a: Alias => a.toAttribute -> a.child })
    ReplacedExpressions(e).transformUp {
      case OuterReference(reference) => reference.toAttribute
      case a: Attribute              => aliases.getOrElse(a, a)
    }
  }
}

private[rewrite] object CorrelatedRows {

  /**
   * @param plan a row for each row of the outer query and each row that it finds; with NULLs where there is none
   * @param columns those of the subquery
   * @param matched the plan without the rows that stand for none
   */
  case class Found(plan: LogicalPlan, columns: Seq[Expression], matched: LogicalPlan)

  /** What a subquery can be taken to ask for, the cheapest first. */
  def of(plan: LogicalPlan): Seq[CorrelatedRows] = plan match {
    case SubqueryAlias(_, child)                            => of(child)
    case Project(columns, child) if columns.forall(isPlain) => of(child).map(_.project(columns))
    case Limit(IntegerLiteral(limit), child) if limit > 0   =>
      sorted(child).map(_.copy(limit = limit)).toSeq
    case aggregate: Aggregate if aggregate.groupingExpressions.isEmpty =>
      for {
        found <- filtered(aggregate.child).toSeq
        columns = aggregate.aggregateExpressions if columns.forall(isOfAggregates)
        asked <- extremes(found, columns) ++
          Seq(found.copy(output = columns.map(found.named), isTotal = true))
      } yield asked
    case _ => Nil
  }

  private def sorted(plan: LogicalPlan): Option[CorrelatedRows] = plan match {
    case SubqueryAlias(_, child)                            => sorted(child)
    case Project(columns, child) if columns.forall(isPlain) => sorted(child).map(_.project(columns))
    case sort: Sort if sort.global && sort.order.forall(isPlain) =>
      filtered(sort.child).map { found =>
        found.copy(order = sort.order.map(o => o.copy(child = found.under(o.child))))
      }
    case _ => None
  }

  private def filtered(plan: LogicalPlan): Option[CorrelatedRows] = plan match {
    case rows if !isCorrelated(rows) => Some(CorrelatedRows(rows, Nil, Nil, 1, rows.output))
    case SubqueryAlias(_, child)     => filtered(child)
    case Project(columns, child) if columns.forall(isPlain) =>
      filtered(child).map(_.project(columns))
    case Filter(condition, child) if isPlain(condition) =>
      filtered(child).map { found =>
        found.copy(conditions = found.conditions ++ Predicates.split(found.under(condition)))
      }
    case _ => None
  }

  /** Aggregates that all ask for the same end of the same order. */
  private def extremes(
      found: CorrelatedRows,
      columns: Seq[NamedExpression]): Option[CorrelatedRows] = {
    val functions = AggregatedPairs.functionsOf(columns)
    val ends =
      functions.map(f => if (isPlainAggregate(f)) endOf(found, f.aggregateFunction) else None)
    val values = functions.zip(ends).collect { case (f, Some(end)) =>
      f.resultId -> end.value
    }.toMap
    for {
      first <- ends.headOption.flatten
      if ends.forall(_.exists(end => isSame(end.order, first.order)))
    } yield {
      val output = columns.map { column =>
        found.named(column.transform { case f: AggregateExpression => values(f.resultId) }
          .asInstanceOf[NamedExpression])
      }
      found.copy(order = first.order, limit = 1, output = output, isTotal = true)
    }
  }

  /** What is beside an aggregate would have to be the same in all rows. */
  private def isOfAggregates(column: NamedExpression): Boolean = cond(column) {
    case Alias(e, _) =>
      isPlain(e) && e.transform { case _: AggregateExpression => Literal(0) }.references.isEmpty
  }

  /** Of which row a value is asked. */
  private case class End(value: Expression, order: Seq[SortOrder])

  private def endOf(found: CorrelatedRows, function: AggregateFunction): Option[End] = {
    def end(value: Expression, by: Expression, direction: SortDirection) = {
      val ofRow = found.under(value)
      def endIf(isFound: Expression, order: Seq[SortOrder]) =
        End(If(isFound, ofRow, Literal(null, ofRow.dataType)), order)
      found.under(by) match {
        // A struct is never NULL, whatever its fields are: it is NULL only where there is no row.
        case struct: CreateNamedStruct =>
          found.isRow.map(endIf(_, struct.valExprs.map(SortOrder(_, direction))))
        // A NULL is passed over; if there is nothing else, the result is NULL.
        case plain =>
          Some(endIf(IsNotNull(plain), Seq(SortOrder(plain, direction, NullsLast, Nil))))
      }
    }
    function match {
      case MaxBy(value, by) => end(value, by, Descending)
      case MinBy(value, by) => end(value, by, Ascending)
      case Max(value)       => end(value, value, Descending)
      case Min(value)       => end(value, value, Ascending)
      case _                => None
    }
  }

  private def isPlainAggregate(f: AggregateExpression): Boolean =
    f.mode == Complete && !f.isDistinct && f.filter.isEmpty

  /** Whether plans give the same rows. Spark takes files to be the same by their paths, whenever they were listed. */
  def areSame(a: LogicalPlan, b: LogicalPlan): Boolean =
    a.sameResult(b) && a.collectLeaves().zip(b.collectLeaves()).forall { case (x, y) =>
      sourceOf(x).forall(source => sourceOf(y).exists(_.eq(source)))
    }

  private def sourceOf(leaf: LogicalPlan): Option[AnyRef] = condOpt(leaf) {
    case relation: LogicalRelation      => relation.relation
    case relation: DataSourceV2Relation => relation.table
    case scan: DataSourceV2ScanRelation => scan.relation.table
  }

  private def isSame(a: Seq[SortOrder], b: Seq[SortOrder]): Boolean =
    a.size == b.size && a.zip(b).forall { case (x, y) => Predicates.haveSameValue(x, y) }

  /** Whether a plan reads columns of an outer query. */
  private[rewrite] def isCorrelated(plan: LogicalPlan): Boolean =
    plan.exists(_.expressions.exists(_.exists(_.isInstanceOf[OuterReference])))

  /** Whether a value can be computed above a join. */
  private def isPlain(e: Expression): Boolean = e.deterministic && !e.exists {
    case _: SubqueryExpression | _: WindowExpression | _: Generator => true
    case _                                                          => false
  }
}
