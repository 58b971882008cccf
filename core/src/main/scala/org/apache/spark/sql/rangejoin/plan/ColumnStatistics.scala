// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RangeCondition}
import org.apache.spark.sql.rangejoin.partitioning._
import org.apache.spark.sql.types._

/**
 * What statistics of columns say of the ranges of a join: those of `ANALYZE TABLE .. FOR COLUMNS`, whether or not Spark
 * goes by costs, and of sources that have some.
 *
 * A side is modelled by some rows. In row `i` of `n` every column has the value that is `i / n` of the way
 * from its least to its greatest, by its histogram or evenly; so start and end of an interval rise together.
 * Rows that the side's own filters refuse are left out. Other operators below the join are assumed to keep
 * the distribution of values.
 */
private[plan] class ColumnStatistics(join: Join) {
  import ColumnStatistics._

  /** The part of all pairs that is in a range; None where it is not known. */
  def share(range: RangeCondition): Option[Double] = {
    val positions = PartitionedRange.positions(range, LeftSide)
    for {
      left <- sample(join.left, positions.ofOwner, LeftRows)
      right <- sample(join.right, positions.ofCopied, RightRows)
    } yield PairCount(left, right, Position.ordering(positions.dataType)) /
      (left.rows * right.rows)
  }

  private def sample(side: LogicalPlan, bounds: SideBounds, rows: Int): Option[SideSample] = {
    val columns = AttributeSet.fromAttributeSets(bounds.columns.map(_.references)).toSeq
    val values =
      columns.map(column => columnOf(side, column).flatMap(quantiles(column.dataType, _, rows)))
    if (values.isEmpty || values.exists(_.isEmpty)) None
    else {
      val all = (0 until rows).map(i => InternalRow.fromSeq(values.map(_.get(i))))
      val filters = side.constraints.toSeq
        .filter(f => f.references.subsetOf(AttributeSet(columns)) && !CostlySide.isCostly(f))
      Try {
        val kept = bindReferences(filters, columns)
        val evaluated = bindReferences(bounds.columns, columns)
        all.filter(row => kept.forall(_.eval(row) == true))
          .map(row => InternalRow.fromSeq(evaluated.map(_.eval(row))))
      }.toOption.filter(_.size >= FewRows).map { rows =>
        SideSample.of(rows.toArray, Array.fill(rows.size)(1.0), bounds.ordinals)
      }
    }
  }

  /** Statistics of the column of a table that a column of a side has its values from. */
  private def columnOf(plan: LogicalPlan, column: Attribute): Option[ColumnStat] =
    plan.stats.attributeStats.get(column).filter(hasEnds).orElse(plan match {
      case relation: LogicalRelation   => relation.catalogTable.flatMap(analyzed(_, column))
      case relation: HiveTableRelation => analyzed(relation.tableMeta, column)
      case _: Union                    => None
      case Project(columns, child)     => columns.find(_.exprId == column.exprId).flatMap {
          case Alias(from: Attribute, _) => columnOf(child, from)
          case from: Attribute           => columnOf(child, from)
          case _                         => None
        }
      case other => other.children.find(_.outputSet.contains(column)).flatMap(columnOf(_, column))
    })

  private def analyzed(table: CatalogTable, column: Attribute): Option[ColumnStat] =
    table.stats.flatMap(_.colStats.get(column.name))
      .flatMap(statistics => Try(statistics.toPlanStat(column.name, column.dataType)).toOption)
}

private object ColumnStatistics {

  /**
   * Number of rows that model a side. They differ, so that the quantiles of the two sides do not
   * coincide.
   */
  private val LeftRows = 2000
  private val RightRows = 1777

  /** Fewer rows tell nothing. */
  private val FewRows = 20

  private def hasEnds(statistics: ColumnStat) = statistics.min.isDefined && statistics.max.isDefined

  /** `rows` evenly spaced quantiles of a column; None for a type without interpolation. */
  private def quantiles(
      dataType: DataType,
      stat: ColumnStat,
      rows: Int): Option[IndexedSeq[Any]] = {
    val ends = for (min <- stat.min; max <- stat.max) yield Array(number(min), number(max))
    val points = stat.histogram.map(h => h.bins.head.lo +: h.bins.map(_.hi)).orElse(ends)
    points.filter(found => !found.exists(_.isNaN)).map { points =>
      (0 until rows).flatMap { i =>
        val at = (i + 0.5) / rows * (points.length - 1)
        val bin = at.toInt
        value(points(bin) + (at - bin) * (points(bin + 1) - points(bin)), dataType)
      }
    }.filter(_.size == rows)
  }

  private def number(value: Any): Double = value match {
    case decimal: Decimal => decimal.toDouble
    case n: Number        => n.doubleValue
    case _                => Double.NaN
  }

  private def value(number: Double, dataType: DataType): Option[Any] = dataType match {
    case DoubleType                                  => Some(number)
    case FloatType                                   => Some(number.toFloat)
    case LongType | TimestampType | TimestampNTZType => Some(math.round(number))
    case IntegerType | DateType                      => Some(math.round(number).toInt)
    case ShortType                                   => Some(math.round(number).toShort)
    case ByteType                                    => Some(math.round(number).toByte)
    case d: DecimalType                              =>
      Option(Decimal(BigDecimal(number).setScale(d.scale, BigDecimal.RoundingMode.HALF_UP)))
        .filter(_.changePrecision(d.precision, d.scale))
    case _ => None
  }
}
