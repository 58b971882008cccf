// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import scala.PartialFunction.cond

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.{RangeCondition, Side}
import org.apache.spark.sql.rangejoin.kernel.RangeBound
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * What a range says of one side if values of the other are known: with `r.t <= l.t + 10` and `l.t <= 100` only rows
 * with `r.t <= 110` match.
 */
object ImpliedLimits {

  /**
   * Predicates, each of a column and a literal, that hold for all rows of a side that can match.
   *
   * @param known of columns of either side
   */
  def of(
      range: RangeCondition,
      side: Side,
      known: Attribute => KnownValues): Seq[BinaryComparison] = {
    def rising(bound: Option[RangeBound]) = bound.flatMap(RisingBound.of)
    def atLeast(bound: Option[RangeBound], other: Option[RangeBound]) =
      for (b <- rising(bound); o <- rising(other); l <- o.least(known(o.column)))
        yield b.atLeast(l)
    def atMost(bound: Option[RangeBound], other: Option[RangeBound]) =
      for (b <- rising(bound); o <- rising(other); l <- o.greatest(known(o.column)))
        yield b.atMost(l)
    // The tests are `sort <= upper` and `evict >= lower`: see RangeCondition.
    val limits =
      if (side == range.streamed) {
        atLeast(range.upperBound, range.sortBound) ++ atMost(range.lowerBound, range.evictBound)
      } else {
        atLeast(range.evictBound, range.lowerBound) ++ atMost(range.sortBound, range.upperBound)
      }
    (MatchableValues.sound(limits.collect { case SomeValues(predicate) => predicate }.toSeq) ++
      compared(range, side, known)).filterNot(isKnown(_, known))
  }

  /** For plain columns whose values cannot be numbered: the limit itself. */
  private def compared(
      range: RangeCondition,
      side: Side,
      known: Attribute => KnownValues): Seq[BinaryComparison] =
    (range.upperTest.toSeq ++ range.lowerTest).filterNot(_.hasOpenEnds).flatMap { test =>
      (test.lesser, test.greater) match {
        case (lesser: Attribute, greater: Attribute) if isCompared(lesser, greater) =>
          def literal(value: Any) = Literal(value, lesser.dataType)
          if (side == test.lesserSide) {
            known(greater).greatest.filter(isText).map(v => LessThanOrEqual(lesser, literal(v)))
          } else
            known(lesser).least.filter(isText).map(v => GreaterThanOrEqual(greater, literal(v)))
        case _ => None
      }
    }

  private def isCompared(lesser: Attribute, greater: Attribute): Boolean =
    lesser.dataType == greater.dataType && cond(lesser.dataType) {
      case StringType | BinaryType => true
      case decimal: DecimalType    => NumberedValues.of(decimal).isEmpty
    }

  /**
   * Whether a value survives as a string of Java, in which Spark hands it to a source: bytes that are no UTF-8 do not.
   */
  private def isText(value: Any): Boolean = value match {
    case string: UTF8String => UTF8String.fromString(string.toString) == string
    case _                  => true
  }

  private def isKnown(predicate: BinaryComparison, known: Attribute => KnownValues): Boolean = {
    def compared(column: Attribute, value: Any, to: KnownValues => Option[Any]) = {
      val ordering = TypeUtils.getInterpretedOrdering(column.dataType)
      to(known(column)).map(ordering.compare(_, value))
    }
    cond(predicate) {
      case GreaterThanOrEqual(a: Attribute, Literal(v, _)) => compared(a, v, _.least).exists(_ >= 0)
      case LessThanOrEqual(a: Attribute, Literal(v, _)) => compared(a, v, _.greatest).exists(_ <= 0)
    }
  }
}

/** Which values of a column have a bound within a limit: all, none, or the values that meet a predicate. */
private[pushdown] sealed trait ColumnLimit

private[pushdown] case object AllValues extends ColumnLimit

private[pushdown] case object NoValue extends ColumnLimit

private[pushdown] case class SomeValues(predicate: BinaryComparison) extends ColumnLimit

/**
 * Hides an inferred predicate from data sources, so that pushdown cannot fail a query that worked before. The
 * predicate is still tested for each row. [[PruneScans]] hands it to scans where nothing can go wrong, and
 * [[ShownLimits]] to Iceberg.
 */
case class ImpliedLimit(child: Expression) extends UnaryExpression with Predicate {

  override def dataType: DataType = BooleanType

  override def nullable: Boolean = child.nullable

  override def eval(input: InternalRow): Any = child.eval(input)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    child.genCode(ctx)

  override def prettyName: String = "implied"

  override def toString: String = s"implied$child"

  override def sql: String = s"implied${child.sql}"

  override protected def withNewChildInternal(newChild: Expression): ImpliedLimit =
    copy(child = newChild)
}

/** What is known of the values of a column: the least and the greatest that any row has. */
case class KnownValues(least: Option[Any], greatest: Option[Any])

/**
 * Shows inferred limits to the sources that compare values as Spark does, before Spark plans their scans:
 * Iceberg leaves out manifests and files by them. From all other sources [[ImpliedLimit]] hides them.
 */
object ShownLimits {

  /** Spark has it from 4.1 on. */
  private val JoinPushdown = "spark.sql.optimizer.datasourceV2JoinPushdown"

  private val Inferred = TreeNodeTag[Unit]("rangejoin.inferred")

  /** Whether a predicate of a filter was inferred, shown or not. */
  def isInferred(predicate: Expression): Boolean =
    predicate.isInstanceOf[ImpliedLimit] || predicate.getTagValue(Inferred).isDefined

  /** The plan with the limits shown that stand directly above such a source. */
  def in(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case Filter(condition, source: DataSourceV2Relation) if isTrusted(source) =>
      Filter(
        condition.transform {
          case ImpliedLimit(limit: BinaryComparison) if isExact(limit) =>
            limit.setTagValue(Inferred, ())
            limit
        },
        source)
  }

  /**
   * Whether a source below may compute an aggregate or a join itself, unless there is a filter in between that it does
   * not know. Files leave out partitions by any filter.
   */
  def wouldHinder(side: LogicalPlan): Boolean = {
    def readsSource(plan: LogicalPlan) = plan.exists(cond(_) {
      case source: DataSourceV2Relation =>
        !isTrusted(source) && !source.table.isInstanceOf[FileTable]
    })
    side.exists(plan =>
      plan.isInstanceOf[Aggregate] && readsSource(plan)) || SQLConf.get.getConfString(
      JoinPushdown,
      "false").toBoolean && readsSource(side)
  }

  private def isTrusted(source: DataSourceV2Relation): Boolean =
    source.table.getClass.getName.startsWith("org.apache.iceberg.")

  /** Iceberg's bounds of a file do not count NaN, which is the greatest value for Spark. */
  private def isExact(limit: BinaryComparison): Boolean = cond(limit.left.dataType) {
    case IntegerType | LongType | DateType | TimestampType | TimestampNTZType => true
    case _: DecimalType                                                       => true
  }
}
