// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.PartialFunction.condOpt

import org.apache.spark.sql.catalyst.SQLConfHelper
import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.{Cross, Inner, JoinType, LeftOuter}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

/**
 * Makes range joins of Spark's as-of joins (`DataFrame._joinAsOf`, `merge_asof`, `ASOF JOIN`), of correlated subqueries
 * that ask for the best rows of a range, and of those that aggregate the rows of a range:
 *
 * {{{
 *   FROM l, LATERAL (SELECT .. FROM r WHERE r.k = l.k AND r.t <= l.t ORDER BY r.t DESC LIMIT 2)
 *   SELECT (SELECT r.p FROM r WHERE r.k = l.k AND r.t <= l.t ORDER BY r.t DESC LIMIT 1) FROM l
 *   SELECT (SELECT max_by(r.p, r.t) FROM r WHERE r.k = l.k AND r.t <= l.t) FROM l
 *   SELECT (SELECT sum(r.p) FROM r WHERE r.k = l.k AND r.t <= l.t) FROM l
 * }}}
 *
 * The matches of each row are ranked ([[RankedMatches]]) or aggregated ([[AggregatedMatches]]). Spark joins the distinct
 * values of the columns that the subquery reads with all rows of `r` that are in range, whatever their keys. Subqueries of
 * one value that ask for the same rows are one join.
 *
 * Runs before the optimizer, which would have no such node any more. What no range join answers, and a subquery that is
 * more than a filter and an order or an aggregate, is left to Spark.
 */
private[rewrite] object JoinMatches extends SQLConfHelper {

  /** @param subqueries whether subqueries are rewritten, and not as-of joins alone */
  def apply(plan: LogicalPlan, subqueries: Boolean): LogicalPlan =
    plan.transformDownWithSubqueries {
      case join: AsOfJoin => asOf(join).getOrElse(join)
      case join: LateralJoin if subqueries && join.condition.forall(_ == TrueLiteral) =>
        lateral(join).getOrElse(join)
      case project @ Project(columns, child) if subqueries =>
        val (ranked, below) = scalar(columns, child)
        if (below.eq(child)) project else Project(ranked, below)
      case filter @ Filter(condition, child) if subqueries =>
        val (ranked, below) = scalar(Seq(condition), child)
        if (below.eq(child)) filter else Project(filter.output, Filter(ranked.head, below))
    }

  private def asOf(node: AsOfJoin): Option[LogicalPlan] = {
    val condition = Some(node.asOfCondition).filterNot(_ == TrueLiteral)
    // The nearest of all: a NULL is near to nothing.
    val times =
      if (condition.isEmpty) node.orderExpression.references.toSeq.filter(_.nullable) else Nil
    for {
      found <- RankedMatches.of(
        node.left,
        node.right,
        node.condition.toSeq ++ condition ++ times.map(IsNotNull(_)),
        Seq(SortOrder(node.orderExpression, Ascending)),
        limit = 1)
      if conf.getConf(RangeJoinConf.BestMatches)
      // A subquery that reads columns of the outer query is rewritten by Spark, which has to know the node.
      if !CorrelatedRows.isCorrelated(node) && node.output.forall(found.plan.outputSet.contains)
    } yield Project(
      node.output,
      if (node.joinType == Inner) found.matched else found.plan)
  }

  private def lateral(join: LateralJoin): Option[LogicalPlan] =
    keepsLeft(join.joinType).flatMap { isOuter =>
      val asked = CorrelatedRows.of(join.right.plan)
        .filter(rows => !rows.isOfPython || !(isOuter || rows.isTotal))
      asked.view.flatMap(_.over(join.left)).headOption.map { found =>
        val columns = found.columns.zip(join.right.plan.output).map {
          case (same: Attribute, column) if same.exprId == column.exprId =>
            same.withQualifier(column.qualifier)
          case (value, column) => NumberedRows.named(value, column)
        }
        Project(join.left.output ++ columns, if (isOuter) found.plan else found.matched)
      }
    }

  private def keepsLeft(joinType: JoinType): Option[Boolean] = condOpt(joinType) {
    case Inner | Cross => false
    case LeftOuter     => true
  }

  /** Expressions without the subqueries of one value that can be put below them, and what is below then. */
  private def scalar[E <: Expression](
      expressions: Seq[E],
      child: LogicalPlan): (Seq[E], LogicalPlan) = {
    val asked = expressions.flatMap(_.collect { case s: ScalarSubquery =>
      s -> CorrelatedRows.of(s.plan).filter(rows =>
        rows.limit == 1 && rows.output.size == 1 && !rows.isOfPython)
    })
    // An aggregate gives the first row of an order as well, which is better found by itself.
    val aggregatesFirst = asked.sortBy { case (_, ways) => ways.exists(_.order.nonEmpty) }
    val found = aggregatesFirst.tails.map(joined(_, child)).collectFirst { case Some(found) =>
      found
    }
    found.fold((expressions, child)) { case Joined(subqueries, _, over) =>
      val without = expressions.map(_.transform {
        case s: ScalarSubquery if subqueries.exists(_.eq(s)) =>
          over.columns(subqueries.indexWhere(_.eq(s)))
      }.asInstanceOf[E])
      scalar(without, over.plan)
    }
  }

  /** Subqueries that are one join, each of which gives a column of `over`. */
  private case class Joined(
      subqueries: Seq[ScalarSubquery],
      rows: CorrelatedRows,
      over: CorrelatedRows.Found)

  /** The first of these, and of the others those that ask for the same rows. */
  private def joined(
      asked: Seq[(ScalarSubquery, Seq[CorrelatedRows])],
      child: LogicalPlan): Option[Joined] = {
    def first(subqueries: Seq[ScalarSubquery], ways: Seq[CorrelatedRows]): Option[Joined] =
      ways.view.flatMap(rows => rows.over(child).map(Joined(subqueries, rows, _))).headOption
    for {
      (subquery, ways) <- asked.headOption
      alone <- first(Seq(subquery), ways)
    } yield asked.tail.foldLeft(alone) { case (joined, (next, ways)) =>
      first(joined.subqueries :+ next, ways.flatMap(joined.rows.and(_))).getOrElse(joined)
    }
  }
}
