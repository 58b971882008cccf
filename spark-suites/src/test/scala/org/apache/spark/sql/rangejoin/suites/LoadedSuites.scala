// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import org.apache.spark.sql._
import org.apache.spark.sql.connector.KeyGroupedPartitioningSuite
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite
import org.apache.spark.sql.execution.metric.SQLMetricsSuite
import org.apache.spark.sql.rangejoin.suites.Exclusion._
import org.apache.spark.sql.sources.BucketedReadWithoutHiveSupportSuite

// With the extension as it is shipped nothing changes for these suites, but for a join with a range.

/** Tests that look for a broadcast nested loop join, and have one with a range. */
object OfBroadcasts {
  val hints: Seq[Exclusion] = Exclusion.of(AssertsStockNode)(
    "join strategy hint - broadcast",
    "join strategy hint - shuffle-merge",
    "join strategy hint - shuffle-hash",
    "join strategy hint - shuffle-replicate-nl"
  )

  val wholeStageCodegen: Seq[Exclusion] = Exclusion.of(AssertsStockNode)(
    "Inner/Cross BroadcastNestedLoopJoinExec should be included in WholeStageCodegen",
    "Left/Right outer BroadcastNestedLoopJoinExec should be included in WholeStageCodegen",
    "Left semi/anti BroadcastNestedLoopJoinExec should be included in WholeStageCodegen"
  )

  val adaptive: Seq[Exclusion] = Exclusion.of(AssertsStockNode)(
    "SPARK-39551: Invalid plan check - invalid broadcast query stage",
    "SPARK-48155: AQEPropagateEmptyRelation check remained child for join",
    "SPARK-47247: coalesce differently for BNLJ"
  )
}

class JoinSuiteLoaded extends JoinSuite with ExtensionLoaded {
  override protected def exclusions: Seq[Exclusion] = Exclusion.of(AssertsStockNode)(
    "join operator selection",
    "SPARK-43113: Full outer join with duplicate stream-side references in condition (SMJ)",
    "SPARK-43113: Full outer join with duplicate stream-side references in condition (SHJ)"
  ) ++ Exclusion.since("4.0")(Exclusion.of(AssertsStockNode)(
    "SPARK-36794: Ignore duplicated key when building relation for semi/anti hash join"
  ))
}

class DataFrameJoinSuiteLoaded extends DataFrameJoinSuite with NoRange

class DataFrameAsOfJoinSuiteLoaded extends DataFrameAsOfJoinSuite with ExtensionLoaded

class DataFrameSelfJoinSuiteLoaded extends DataFrameSelfJoinSuite with ExtensionLoaded

class JoinHintSuiteLoaded extends JoinHintSuite with ExtensionLoaded {
  override protected def exclusions: Seq[Exclusion] = OfBroadcasts.hints
}

class SubquerySuiteLoaded extends SubquerySuite with ExtensionLoaded

class AdaptiveQueryExecSuiteLoaded extends AdaptiveQueryExecSuite with ExtensionLoaded {
  override protected def exclusions: Seq[Exclusion] = OfBroadcasts.adaptive
}

class WholeStageCodegenSuiteLoaded extends WholeStageCodegenSuite with ExtensionLoaded {
  override protected def exclusions: Seq[Exclusion] = OfBroadcasts.wholeStageCodegen
}

class SQLMetricsSuiteLoaded extends SQLMetricsSuite with NoRange

class PlannerSuiteLoaded extends PlannerSuite with NoRange

class RemoveRedundantSortsSuiteLoaded extends RemoveRedundantSortsSuite with NoRange

class DynamicPartitionPruningV1SuiteAEOffLoaded
    extends DynamicPartitionPruningV1SuiteAEOff
    with NoRange

class DynamicPartitionPruningV1SuiteAEOnLoaded
    extends DynamicPartitionPruningV1SuiteAEOn
    with NoRange

class BucketedReadSuiteLoaded extends BucketedReadWithoutHiveSupportSuite with ExtensionLoaded

class KeyGroupedPartitioningSuiteLoaded extends KeyGroupedPartitioningSuite with NoRange

class JoinQueriesLoaded extends JoinQueries with ExtensionLoaded {
  // Its code of a key does not compile where it is split (`split function argument`).
  override protected def exclusions: Seq[Exclusion] = super.exclusions ++ Exclusion.before("4.2")(
    Exclusion.of(StockRaises(query = 6))("subquery/subquery-nested-data.sql")
  )
}
