// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

/** A block in a spill file. */
private[window] final class SpilledBytes(
    val file: SpillFile,
    val offset: Long,
    val encodedLength: Int,
    val length: Int
)
