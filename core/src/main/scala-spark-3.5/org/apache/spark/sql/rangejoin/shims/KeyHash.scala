// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.{Expression, Murmur3Hash}

/** The hash of keys that is the same for equal ones: what Spark shuffles by. */
object KeyHash {
  def of(keys: Seq[Expression]): Expression = new Murmur3Hash(keys)
}
