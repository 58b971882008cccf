// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.plans.{JoinType, LeftSingle}

/** A join type that no range join has. */
object OtherJoinType {
  val it: JoinType = LeftSingle
}
