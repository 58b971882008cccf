// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

/** An index that was built: how to get at it, and what code depends on. */
private[broadcast] case class BuiltIndex(
    cursors: CursorFactory,
    buildIsEmpty: Boolean,
    keyIsUnique: Boolean)
