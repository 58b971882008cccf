// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import org.apache.spark.sql._
import org.apache.spark.sql.connector.KeyGroupedPartitioningSuite
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite
import org.apache.spark.sql.execution.metric.SQLMetricsSuite
import org.apache.spark.sql.rangejoin.suites.Exclusion._
import org.apache.spark.sql.sources.BucketedReadWithoutHiveSupportSuite

// What is expected of a plan is excluded here, what is expected of rows is not.

class JoinSuiteEveryJoin extends JoinSuite with EveryJoin {
  override protected def exclusions: Seq[Exclusion] = Exclusion.of(AssertsStockSpills)(
    "test SortMergeJoin (with spill)",
    "SPARK-49386: test SortMergeJoin (with spill by size threshold)"
  ) ++ Exclusion.of(AssertsStockNode)(
    "test SortMergeJoin output ordering",
    "join operator selection",
    "SPARK-32330: Preserve shuffled hash join build side partitioning",
    "SPARK-32383: Preserve hash join (BHJ and SHJ) stream side ordering",
    "SPARK-32399: Full outer shuffled hash join",
    "SPARK-36612: Support left outer join build left or right outer join build right " +
      "in shuffled hash join",
    "SPARK-34593: Preserve broadcast nested loop join partitioning and ordering",
    "SPARK-32649: Optimize BHJ/SHJ inner/semi join with empty hashed relation",
    "SPARK-36794: Ignore duplicated key when building relation for semi/anti hash join",
    "SPARK-43113: Full outer join with duplicate stream-side references in condition (SMJ)",
    "SPARK-43113: Full outer join with duplicate stream-side references in condition (SHJ)"
  )
}

class DataFrameJoinSuiteEveryJoin extends DataFrameJoinSuite with EveryJoin

class DataFrameSelfJoinSuiteEveryJoin extends DataFrameSelfJoinSuite with EveryJoin

class JoinHintSuiteEveryJoin extends JoinHintSuite with EveryJoin {
  override protected def exclusions: Seq[Exclusion] = OfBroadcasts.hints ++
    Exclusion.of(AssertsStockNode)("SPARK-35221: Add join hint build side check")
}

class SubquerySuiteEveryJoin extends SubquerySuite with EveryJoin

class AdaptiveQueryExecSuiteEveryJoin extends AdaptiveQueryExecSuite with EveryJoin {
  override protected def exclusions: Seq[Exclusion] = Exclusion.of(AssertsStockNode)(
    "Change broadcast join to merge join",
    "Empty stage coalesced to 1-partition RDD",
    "Avoid plan change if cost is greater",
    "SPARK-30524: Do not optimize skew join if introduce additional shuffle",
    "SPARK-29544: adaptive skew join with different join types",
    "SPARK-33551: Do not use AQE shuffle read for repartition",
    "SPARK-35264: Support AQE side broadcastJoin threshold",
    "SPARK-35264: Support AQE side shuffled hash join formula",
    "SPARK-33832: Support optimize skew join even if introduce extra shuffle",
    "SPARK-37328: skew join with 3 tables",
    "SPARK-37652: optimize skewed join through union"
  ) ++ OfBroadcasts.adaptive
}

class WholeStageCodegenSuiteEveryJoin extends WholeStageCodegenSuite with EveryJoin {
  override protected def exclusions: Seq[Exclusion] = Exclusion.of(AssertsStockNode)(
    "Inner ShuffledHashJoin should be included in WholeStageCodegen",
    "Full Outer ShuffledHashJoin and SortMergeJoin should be included in WholeStageCodegen",
    "SPARK-44060 Code-gen for build side outer shuffled hash join",
    "Left/Right Outer SortMergeJoin should be included in WholeStageCodegen",
    "Left Semi SortMergeJoin should be included in WholeStageCodegen",
    "Left Anti SortMergeJoin should be included in WholeStageCodegen"
  ) ++ OfBroadcasts.wholeStageCodegen
}

class SQLMetricsSuiteEveryJoin extends SQLMetricsSuite with EveryJoin {
  override protected def exclusions: Seq[Exclusion] = Exclusion.of(AssertsStockNode)(
    "SortMergeJoin metrics",
    "SortMergeJoin(outer) metrics",
    "SortMergeJoin(left-anti) metrics",
    "ShuffledHashJoin metrics",
    "ShuffledHashJoin(left, outer) metrics",
    "SPARK-32629: ShuffledHashJoin(full outer) metrics"
  )
}

class PlannerSuiteEveryJoin extends PlannerSuite with EveryJoin {
  override protected def exclusions: Seq[Exclusion] = Exclusion.of(AssertsStockNode)(
    "SPARK-40086: multiple aliases to the same attribute with complex required " +
      "distribution should not introduce extra shuffle"
  )
}

class RemoveRedundantSortsSuiteEveryJoin extends RemoveRedundantSortsSuite with EveryJoin

class DynamicPartitionPruningV1SuiteAEOffEveryJoin
    extends DynamicPartitionPruningV1SuiteAEOff
    with EveryJoin

class DynamicPartitionPruningV1SuiteAEOnEveryJoin
    extends DynamicPartitionPruningV1SuiteAEOn
    with EveryJoin

class BucketedReadSuiteEveryJoin extends BucketedReadWithoutHiveSupportSuite with EveryJoin {
  override protected def exclusions: Seq[Exclusion] = Exclusion.of(AssertsStockNode)(
    "avoid shuffle when join 2 bucketed tables",
    "only shuffle one side when join bucketed table and non-bucketed table",
    "only shuffle one side when 2 bucketed tables have different bucket number",
    "only shuffle one side when 2 bucketed tables have different bucket keys",
    "shuffle when join keys are not equal to bucket keys",
    "shuffle when join 2 bucketed tables with bucketing disabled",
    "check sort and shuffle when bucket and sort columns are join keys",
    "avoid shuffle and sort when sort columns are a super set of join keys",
    "only sort one side when sort columns are different",
    "only sort one side when sort columns are same but their ordering is different",
    "SPARK-17698 Join predicates should not contain filter clauses",
    "SPARK-19122 Re-order join predicates if they match with the child's output partitioning",
    "SPARK-19122 No re-ordering should happen if set of join columns != set of " +
      "child's partitioning columns",
    "SPARK-29655 Read bucketed tables obeys spark.sql.shuffle.partitions",
    "SPARK-32767 Bucket join should work if SHUFFLE_PARTITIONS larger than bucket number",
    "bucket coalescing eliminates shuffle",
    "bucket coalescing is not satisfied"
  )
}

// They look for shuffles and grouped partitions below the stock node.
class KeyGroupedPartitioningSuiteEveryJoin extends KeyGroupedPartitioningSuite with EveryJoin {
  override protected def exclusions: Seq[Exclusion] = Exclusion.of(AssertsStockNode)(
    "partitioned join: number of buckets mismatch should trigger shuffle",
    "partitioned join: only one side reports partitioning",
    "partitioned join: join with two partition keys and different # of partition keys",
    "SPARK-41413: partitioned join: partition values from one side are subset of " +
      "those from the other side",
    "SPARK-41413: partitioned join: partition values from both sides overlaps",
    "SPARK-41413: partitioned join: non-overlapping partition values from both sides",
    "SPARK-42038: partially clustered: with different partition keys and both sides " +
      "partially clustered",
    "SPARK-42038: partially clustered: with different partition keys and missing " +
      "keys on left-hand side",
    "SPARK-42038: partially clustered: with different partition keys and missing " +
      "keys on right-hand side",
    "SPARK-42038: partially clustered: left outer join",
    "SPARK-42038: partially clustered: right outer join",
    "SPARK-42038: partially clustered: full outer join is not applicable",
    "SPARK-55848: dropDuplicates after SPJ with partial clustering",
    "SPARK-55848: Window dedup after SPJ with partial clustering",
    "SPARK-42038: partially clustered: with dynamic partition filtering",
    "SPARK-41471: shuffle one side: only one side reports partitioning",
    "SPARK-41471: shuffle one side: shuffle side has more partition value",
    "SPARK-41471: shuffle one side: only one side reports partitioning with two identity",
    "SPARK-41471: shuffle one side: partitioning with transform",
    "SPARK-44641: duplicated records when SPJ is not triggered",
    "SPARK-44647: SPJ: test join key is subset of cluster key with push values and " +
      "partially-clustered",
    "SPARK-47094: SPJ: Does not trigger when incompatible number of buckets on both side",
    "SPARK-47094: Compatible buckets does not support SPJ with push-down values or " +
      "partially-clustered",
    "SPARK-44647: test join key is the second cluster key",
    "SPARK-44647: test join key is the second partition key and a transform",
    "SPARK-44647: shuffle one side and join keys are less than partition keys",
    "SPARK-48012: one-side shuffle with partition transforms",
    "SPARK-48012: one-side shuffle with partition transforms and pushdown values",
    "SPARK-48012: one-side shuffle with partition transforms with fewer join keys " +
      "than partition kes",
    "SPARK-55411: Fix ArrayIndexOutOfBoundsException when join keys are less than " +
      "cluster keys",
    "SPARK-55092: Scans should not group partitions",
    "SPARK-55535: Multi table join granular partition grouping",
    "SPARK-55535: Multi table join partial clustering",
    "SPARK-55535: Empty partitioned table",
    "SPARK-56241: GroupPartitionsExec non-coalescing passes through child ordering, " +
      "no pre-join SortExec needed before SortMergeJoin",
    "SPARK-56241: GroupPartitionsExec coalescing derives ordering from key " +
      "expressions, no pre-join SortExec needed before SortMergeJoin",
    "SPARK-55715: preserve outputOrdering when coalescing partitions with sorted merge",
    "SPARK-55715: preserve outputOrdering when coalescing transform-partitioned splits",
    "SPARK-56549: k-way merge enabled only when parent requires ordering"
  ) ++ Exclusion.since("4.2")(Exclusion.of(AssertsStockNode)(
    "partitioned join: exact distribution (same number of buckets) from both sides",
    "partitioned join: join with two partition keys and matching & sorted partitions",
    "partitioned join: join with two partition keys and unsorted partitions",
    "SPARK-48065: SPJ: allowJoinKeysSubsetOfPartitionKeys is too strict",
    "SPARK-47094: SPJ: Support compatible buckets",
    "SPARK-47094: SPJ:Support compatible buckets with common divisor",
    "SPARK-47094: Support compatible buckets with less join keys than partition keys",
    "SPARK-54439: KeyedPartitioning and join key size mismatch",
    "SPARK-54439: KeyedPartitioning with transform and join key size mismatch"
  )) ++ Exclusion.before("4.2")(Exclusion.of(AssertsStockNode)(
    "SPARK-54439: KeyGroupedPartitioning and join key size mismatch",
    "SPARK-54439: KeyGroupedPartitioning with transform and join key size mismatch"
  ))
}

class JoinQueriesEveryJoin extends JoinQueries with EveryJoin
