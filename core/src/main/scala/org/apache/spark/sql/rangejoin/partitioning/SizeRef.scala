// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

/** Holds the number of rows to draw from a partition for generated code, which exists before it. */
final class SizeRef extends Serializable {
  var size: Int = _
}
