// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

/** What is known of the values of a column: the least and the greatest that any row has. */
case class KnownValues(least: Option[Any], greatest: Option[Any])
