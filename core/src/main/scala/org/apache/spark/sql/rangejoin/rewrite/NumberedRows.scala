// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.PartialFunction.cond

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.LeftOuter
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RangeCondition, RangeExtractor}
import org.apache.spark.sql.types._

/** The left side of a join, with a number of each row: what is grouped by it is of one row. */
private[rewrite] object NumberedRows extends PredicateHelper {

  private val NumberKey = "rangejoin.rowNumber"

  private val Number = new MetadataBuilder().putBoolean(NumberKey, true).build()

  /** A plan with a number of each row, and that number. */
  def of(plan: LogicalPlan): (LogicalPlan, Attribute) = {
    val id = Alias(MonotonicallyIncreasingID(), "id")(explicitMetadata = Some(Number))
    (Project(plan.output :+ id, plan), id.toAttribute)
  }

  /** The join of numbered rows with the rows that meet some conditions. */
  def joined(numbered: LogicalPlan, right: LogicalPlan, conditions: Seq[Expression]): Join =
    Join(numbered, right, LeftOuter, conditions.reduceOption(And(_, _)), JoinHint.NONE)

  /** The left keys of a join, as its rows are distributed. */
  def keysOf(join: Join): Seq[Expression] = join match {
    case ExtractEquiJoinKeys(_, keys, _, _, _, _, _, _) => keys.distinct
    case _                                              => Nil
  }

  /**
   * The range of a join, if it depends on the left row which rows match it: Spark folds what is constant, and a join that
   * loses its keys or its range would make all pairs.
   */
  def rangeOfRow(join: Join): Option[RangeCondition] = {
    val columns = join.left.outputSet -- constants(join.left)
    def dependsOnColumns(expressions: Seq[Expression]) =
      expressions.exists(_.references.exists(columns.contains))
    val keys = keysOf(join)
    if (keys.nonEmpty && !dependsOnColumns(keys)) None
    else {
      RangeExtractor.extract(join, Some(LeftSide)).toOption
        .filter(range => dependsOnColumns(range.predicates))
    }
  }

  /** Columns of which all rows have the same value, as far as the plan shows. */
  private def constants(plan: LogicalPlan): AttributeSet = {
    val below = AttributeSet.fromAttributeSets(plan.children.map(constants))
    def isConstant(e: Expression) =
      e.foldable || e.deterministic && e.references.nonEmpty && e.references.subsetOf(below)
    plan match {
      case Project(columns, _) =>
        AttributeSet(columns.filter {
          case Alias(value, _) => isConstant(value)
          case column          => isConstant(column)
        }.map(_.toAttribute))
      case other => AttributeSet(other.output.filter(below.contains))
    }
  }

  /** Whether Spark can join these sides as they are, by these conditions. */
  def canJoin(left: LogicalPlan, right: LogicalPlan, conditions: Seq[Expression]): Boolean =
    !left.isStreaming && !right.isStreaming && !conditions.exists(hasPythonOfBoth(_, left, right))

  /** Spark has no outer join with such a condition; a filter above would come after the choice. */
  private def hasPythonOfBoth(e: Expression, left: LogicalPlan, right: LogicalPlan): Boolean =
    e.exists {
      case udf: PythonUDF =>
        Seq(left, right).forall(side => !udf.references.subsetOf(side.outputSet))
      case _ => false
    }

  /**
   * Whether equal values of a type are the same: Spark gives them as they are when it groups by them, and they have one
   * hash. 0.0 may have been -0.0.
   */
  def areEqualSame(dataType: DataType): Boolean = cond(dataType) {
    case _: IntegralType | _: DecimalType | BooleanType | StringType | BinaryType | DateType |
        TimestampType | TimestampNTZType => true
  }

  /** A value in the place of a column. */
  def named(value: Expression, as: Attribute): Alias =
    Alias(value, as.name)(as.exprId, as.qualifier, Some(as.metadata))

  def isNumber(column: NamedExpression): Boolean = column.metadata.contains(NumberKey)

  /** The numbers that a plan adds, seen through filters and limits. */
  def numbers(plan: LogicalPlan): AttributeSet = plan match {
    case Project(columns, _) => numbersOf(columns)
    // The optimizer puts projections into aggregates, and evaluates those of rows that it knows.
    case aggregate: Aggregate      => numbersOf(aggregate.aggregateExpressions)
    case rows: LocalRelation       => AttributeSet(rows.output.filter(isNumber))
    case _: Filter | _: LocalLimit => numbers(plan.children.head)
    case _                         => AttributeSet.empty
  }

  private def numbersOf(columns: Seq[NamedExpression]): AttributeSet =
    AttributeSet(columns.collect { case alias: Alias if isNumber(alias) => alias.toAttribute })

  /** The join that gives a plan rows grouped by these, among them the number of a left row. */
  def joinBelow(plan: LogicalPlan, grouping: Seq[Expression]): Option[Join] = plan match {
    case join: Join =>
      val columns = AttributeSet.fromAttributeSets(grouping.map(_.references))
      Some(join).filter(j =>
        j.joinType == LeftOuter && numbers(j.left).exists(columns.contains))
    case Project(columns, child) if columns.forall(_.isInstanceOf[Attribute]) =>
      joinBelow(child, grouping)
    case _ => None
  }

  /** Whether a filter of a plan is likely to leave few rows. */
  def isSelective(plan: LogicalPlan): Boolean =
    plan.exists(node => cond(node) { case Filter(condition, _) => isLikelySelective(condition) })

  /** A plan with another left side of its join. */
  def withLeft(plan: LogicalPlan, left: LogicalPlan): LogicalPlan = plan match {
    case join: Join => join.copy(left = left)
    case other      => other.withNewChildren(other.children.map(withLeft(_, left)))
  }
}
