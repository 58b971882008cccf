"""What the range joins of a query have measured."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rangejoin.errors import RangeJoinError
from rangejoin.names import METRICS_CLASS
from rangejoin.session import loaded_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def metrics(df: DataFrame) -> list[dict[str, int]]:
    """The metrics of each range join in the plan of `df`, from the top of the plan.

    They are those of the last action on this very DataFrame that runs its own plan, such as
    `df.collect()` or `df.toPandas()`; `df.count()` and `df.write` run another one. Before such an
    action all are zero. Peaks are sums over tasks, sizes are in bytes.

    Returns:
        For each range join `numOutputRows` and `numCandidates`. Of a sort-merge or shuffled one
        also `numEvictedRows`, `peakWindowRows`, `peakMemory`, `spilledRows` and `spillSize`; of a
        shuffled one also `buildDataSize`, `buildTime` (milliseconds) and `sortedPartitions`; of a
        broadcast one also `indexRows`, `indexSize` and `indexTime` (nanoseconds). Of a join that
        aggregates its matches also `numMatches` and `numPairs`; its `numOutputRows` counts rows of
        aggregates. An empty list where the plan has no range join.

    Raises:
        RangeJoinError: `df` is of a Spark Connect session, whose plans stay on the server (its
            metrics are in `df.executionInfo.metrics.toText()`); or the driver has no jar of the
            range join.
    """
    jdf: Any = vars(df).get("_jdf")
    if jdf is None:
        raise RangeJoinError(
            "the plan of a Spark Connect DataFrame stays on the server: after an action, look for "
            "SortMergeRangeJoin, ShuffledRangeJoin and BroadcastRangeJoin in "
            "df.executionInfo.metrics.toText()"
        )
    jvm: Any = vars(df.sparkSession)["_jvm"]
    metrics_of = loaded_class(jvm, METRICS_CLASS)
    found: list[dict[str, int]] = json.loads(metrics_of.json(jdf.queryExecution()))
    return found
