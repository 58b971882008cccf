// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning

/**
 * The hash of keys that is the same for equal ones, by their collations: what Spark shuffles by. It is asked for it, as
 * its class is another one in some patch releases.
 */
private[rangejoin] object KeyHash {
  def of(keys: Seq[Expression]): Expression =
    HashPartitioning(keys, 1).partitionIdExpression.children.head
}
