// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.rangejoin.shims.ClassicSession.{Dataset, SparkSession}
import org.apache.spark.sql.types.BooleanType

/**
 * The rows of a join by its definition: the condition is asked for every pair of rows, by Spark's
 * interpreted expressions, as the analyzer resolved it. No optimizer, no sort, no hash.
 */
object PairwiseJoin {

  /** Needs the views of the case; not for a query with operators above the join. */
  def rows(spark: SparkSession, join: JoinCase): Seq[String] = {
    val plan = spark.sql(join.query.plainJoin).asInstanceOf[Dataset[_]].queryExecution.analyzed
    val (columns, logical) = plan match {
      case Project(list, j: Join) => (list, j)
      case other                  => throw new IllegalStateException(s"no join:\n$other")
    }
    // The side an outer join fills with NULL is not declared so below the join.
    val input = (logical.left.output ++ logical.right.output).map(_.withNullability(true))
    val condition = bindReference(evaluable(logical.condition.get), input)
    val pair = new JoinedRow
    val matched = for {
      (l, i) <- join.left.rows.zipWithIndex
      (r, j) <- join.right.rows.zipWithIndex
      if condition.eval(pair(l, r)) == true
    } yield (i, j)
    val show = showColumns(columns, input, logical)
    emit(join, matched, show).sorted
  }

  private def emit(
      join: JoinCase,
      matched: Seq[(Int, Int)],
      show: (InternalRow, InternalRow, Seq[Boolean]) => String
  ): Seq[String] = {
    import JoinForm._
    val (left, right) = (join.left.rows, join.right.rows)
    val noLeft = new NullRow(join.left.schema.size)
    val noRight = new NullRow(join.right.schema.size)
    val leftFound = matched.map(_._1).toSet
    val rightFound = matched.map(_._2).toSet
    def pairs = matched.map { case (i, j) => show(left(i), right(j), Nil) }
    def leftWhere(keep: Int => Boolean) =
      left.indices.filter(keep).map(i => show(left(i), noRight, Nil))
    def unmatchedRight =
      right.indices.filterNot(rightFound).map(j => show(noLeft, right(j), Nil))
    join.form match {
      case InnerForm     => pairs
      case LeftForm      => pairs ++ leftWhere(i => !leftFound(i))
      case RightForm     => pairs ++ unmatchedRight
      case FullForm      => pairs ++ leftWhere(i => !leftFound(i)) ++ unmatchedRight
      case SemiForm      => leftWhere(leftFound)
      case AntiForm      => leftWhere(i => !leftFound(i))
      case ExistenceForm =>
        val v = join.left.schema.fieldIndex("v")
        def more(i: Int, limit: Int) = !left(i).isNullAt(v) && left(i).getInt(v) > limit
        join.query.asked match {
          case Asked.AsColumn(negated) =>
            left.indices.map(i => show(left(i), noRight, Seq(leftFound(i) != negated)))
          case Asked.OrMore(negated, limit) =>
            leftWhere(i => leftFound(i) != negated || more(i, limit))
          case Asked.InOrMore(limit) => leftWhere(i => leftFound(i) || more(i, limit))
          case other => throw new IllegalStateException(s"no existence join: $other")
        }
    }
  }

  private def showColumns(
      columns: Seq[NamedExpression],
      input: Seq[Attribute],
      join: LogicalPlan
  ): (InternalRow, InternalRow, Seq[Boolean]) => String = {
    val bound = columns.map(c => bindReference(evaluable(c), input: AttributeSeq))
    require(columns.forall(_.references.subsetOf(join.outputSet)))
    val types = bound.map(_.dataType)
    val pair = new JoinedRow
    (l, r, more) =>
      SqlLiteral.show(
        bound.map(_.eval(pair(l, r))) ++ more,
        types ++ more.map(_ => BooleanType))
  }

  /** Some expressions only stand for others; the optimizer would replace them. */
  private def evaluable(e: Expression): Expression = e match {
    case r: RuntimeReplaceable => evaluable(r.replacement)
    case a: Alias              => evaluable(a.child)
    case other                 => other.mapChildren(evaluable)
  }
}
