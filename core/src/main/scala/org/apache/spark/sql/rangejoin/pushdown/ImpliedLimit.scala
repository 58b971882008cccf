// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types.{BooleanType, DataType}

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
