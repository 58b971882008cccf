// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.internal.SQLConf

/** Spark's limit to the bytes that a sort-merge join buffers before it spills. */
object WindowBytes {
  def of(conf: SQLConf): Long = conf.sortMergeJoinExecBufferSpillSizeThreshold
}
