// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import org.apache.spark.sql.execution.SparkPlanTest

/** What suites extend that make the nodes of a plan by hand. */
object HandMadeJoinTest {
  type Base = SparkPlanTest
}
