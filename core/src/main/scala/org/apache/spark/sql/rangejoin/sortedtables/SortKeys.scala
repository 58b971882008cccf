// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.catalyst.expressions.codegen.GenerateOrdering
import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  BaseOrdering,
  BoundReference,
  NullsFirst,
  SortOrder,
  UnsafeProjection
}
import org.apache.spark.sql.rangejoin.kernel.LongColumn

/**
 * Makes the keys of the files of one task.
 *
 * @param order bound to a row
 */
private[sortedtables] final class SortKeys(order: Seq[SortOrder]) {
  private[this] val columns = order.collect {
    case SortOrder(LongColumn(column), Ascending, NullsFirst, _) => column
  }.toArray

  private[this] val areLongs = columns.length == order.length

  private[this] lazy val project = UnsafeProjection.create(order.map(_.child))

  private[this] lazy val projected: BaseOrdering =
    GenerateOrdering.generate(order.zipWithIndex.map { case (by, i) =>
      by.copy(
        child = BoundReference(i, by.child.dataType, by.child.nullable),
        sameOrderExpressions = Nil)
    })

  /** Compares rows where the longs of their keys do not decide. */
  lazy val ordering: BaseOrdering = GenerateOrdering.generate(order)

  def newKey(): SortKey = if (areLongs) new LongsKey(columns) else new RowKey(project, projected)

  /** Whether two keys are equal where both of their longs are, and none of these is `NullLong`. */
  val areWhole: Boolean = areLongs && columns.length <= 2
}

private[sortedtables] object SortKeys {

  /** Stands for NULL, and is a value, too. */
  final val NullLong = Long.MinValue
}
