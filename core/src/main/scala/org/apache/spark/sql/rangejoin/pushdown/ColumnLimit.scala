// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.expressions.BinaryComparison

/** Which values of a column have a bound within a limit: all, none, or the values that meet a predicate. */
private[pushdown] sealed trait ColumnLimit

private[pushdown] case object AllValues extends ColumnLimit

private[pushdown] case object NoValue extends ColumnLimit

private[pushdown] case class SomeValues(predicate: BinaryComparison) extends ColumnLimit
