// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.{CollationAwareMurmur3Hash, Expression}

/** The hash of keys that is the same for equal ones, by their collations: what Spark shuffles by. */
object KeyHash {
  def of(keys: Seq[Expression]): Expression = new CollationAwareMurmur3Hash(keys)
}
