/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.rangejoin.condition.RangeCondition
import org.apache.spark.sql.rangejoin.kernel.{GuardedValue, RangeBound}
import org.apache.spark.sql.types.{DataType, MetadataBuilder}

/**
 * The bounds of the broadcast side, as an index asks for them of a row.
 *
 * An index is built on the driver, in a thread without a task. Arithmetic is evaluated there. What
 * runs a user's code, or could ask for the `TaskContext`, is a column of what is broadcast, computed
 * in the tasks that make its rows, and dropped from the output of the join.
 *
 * @param columns of the broadcast side, without such bounds
 */
private[broadcast] case class BuildBounds(range: RangeCondition, columns: Seq[Attribute]) {
  import BuildBounds._

  /** The columns to add to the broadcast side. */
  lazy val added: Seq[NamedExpression] = (range.sortBound ++ range.evictBound).toSeq
    .filter(needsTask)
    .flatMap(bound => bound +: valueOf(bound).toSeq)
    .zipWithIndex
    .map { case (of, i) => Alias(of, s"range_bound_$i")(explicitMetadata = Some(Mark)) }

  def sort: Option[Expression] = range.sortBound.map(boundOf(_, 0))

  def evict: Option[Expression] = range.evictBound.map(boundOf(_, afterSort))

  /** What the bound is a prefix of, if it is. */
  def sortValue: Option[Expression] = range.sortBound.flatMap(placedValueOf(_, 0))

  def evictValue: Option[Expression] = range.evictBound.flatMap(placedValueOf(_, afterSort))

  private def afterSort: Int =
    range.sortBound.filter(needsTask).fold(0)(bound => 1 + valueOf(bound).size)

  private def boundOf(bound: RangeBound, place: Int): Expression = {
    val evaluated = bindReference(bound)
    if (needsTask(bound)) ComputedBound(columns.size + place, evaluated) else evaluated
  }

  private def placedValueOf(bound: RangeBound, place: Int): Option[Expression] =
    valueOf(bound).map {
      value =>
        if (needsTask(bound)) {
          BoundReference(columns.size + place + 1, value.dataType, value.nullable)
        } else bindReference(value)
    }

  private def bindReference(e: Expression): Expression =
    BindReferences.bindReference(e, columns)
}

private[broadcast] object BuildBounds {

  private val MarkKey = "rangejoin.bound"
  private val Mark = new MetadataBuilder().putBoolean(MarkKey, true).build()

  /** The columns of a broadcast side, without bounds that were added to it. */
  def without(output: Seq[Attribute]): Seq[Attribute] = output.filterNot(isAdded)

  def isAdded(attribute: Attribute): Boolean = attribute.metadata.contains(MarkKey)

  private def valueOf(bound: RangeBound): Option[Expression] =
    Option.unless(bound.isLossless)(bound.sortKey)

  /** Whether there is anything in a bound but columns and functions that are Spark's own. */
  private def needsTask(bound: RangeBound): Boolean = bound.exists {
    case _: RangeBound | _: GuardedValue => false
    case _: UserDefinedExpression        => true
    case e                               => !OwnFunctions.contains(e.getClass.getPackageName)
  }

  // Those of package `objects` call methods of any class; functions of Hive are in packages of its own.
  private val OwnFunctions = Set(
    classOf[Expression].getPackageName,
    classOf[RangeBound].getPackageName
  )
}

/**
 * A bound that is a column of the row, where it was computed.
 *
 * @param of what it was computed from: two indexes of different bounds are different indexes
 */
private[broadcast] case class ComputedBound(ordinal: Int, of: Expression) extends LeafExpression {
  private def column: BoundReference = BoundReference(ordinal, dataType, nullable)

  override def dataType: DataType = of.dataType

  override def nullable: Boolean = of.nullable

  override lazy val canonicalized: Expression = copy(of = of.canonicalized)

  override def eval(row: InternalRow): Any = column.eval(row)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    column.genCode(ctx)
}
