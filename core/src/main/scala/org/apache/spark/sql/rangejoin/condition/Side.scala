// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}

/** Which child of a join. */
sealed trait Side {
  def other: Side = if (this == LeftSide) RightSide else LeftSide

  def of(join: Join): LogicalPlan = if (this == LeftSide) join.left else join.right
}

case object LeftSide extends Side

case object RightSide extends Side
