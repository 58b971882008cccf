"""What a Spark Connect server says of the joins of a query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from rangejoin.errors import RangeJoinError
from rangejoin.names import (
    EXPLAIN_CONF,
    REPORT_GENERATOR_CLASS,
    SAMPLE_GENERATOR_CLASS,
    SERVER_REMEDY,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.metrics import PlanMetrics

_TITLE = "== Extended Information (Range joins as JSON) =="

_AS_MANY_ROWS = ("Project", "Sort", "RangeSort", "AQEShuffleRead", "InputAdapter")
"""Nodes that have as many rows as the node below; those of generated code and of stages beside."""


def server_reports(df: DataFrame, sample: bool) -> list[dict[str, Any]]:
    """The reports on the joins of `df`, with the figures of its last action if that ran them.

    Args:
        df: a DataFrame of a Spark Connect session.
        sample: whether the server is to run the inputs of the joins for an estimate of their pairs.

    Raises:
        RangeJoinError: the server has no jar of the range join.
    """
    reports = _of_server(df, SAMPLE_GENERATOR_CLASS if sample else REPORT_GENERATOR_CLASS)
    info = df.executionInfo
    # Private, and the only way to them but to read a text.
    nodes = [] if info is None or info.metrics is None else vars(info.metrics)["_metrics"]
    _add_figures(reports, nodes)
    return reports


def _of_server(df: DataFrame, generator: str) -> list[dict[str, Any]]:
    """The reports that a server adds to EXPLAIN, where it is asked for them."""
    conf = df.sparkSession.conf
    before = conf.get(EXPLAIN_CONF, "")
    conf.set(EXPLAIN_CONF, generator)
    explained: Any = df
    try:
        text = str(explained._explain_string())
    except PySparkException as error:
        raise RangeJoinError(
            "the server cannot explain joins; most likely it does not have the class "
            f"{generator}: {SERVER_REMEDY}. It says: {error}"
        ) from error
    finally:
        if before:
            conf.set(EXPLAIN_CONF, before)
        else:
            conf.unset(EXPLAIN_CONF)
    _, found, below = text.partition(_TITLE)
    if not found:
        raise RangeJoinError(
            f"the server's EXPLAIN says nothing about range joins: {SERVER_REMEDY}"
        )
    reports: list[dict[str, Any]] = json.loads(below.strip().splitlines()[0])
    return reports


def _add_figures(reports: Sequence[dict[str, Any]], nodes: Sequence[PlanMetrics]) -> None:
    """Gives reports the metrics of the joins of the last action, if it ran the same joins."""
    below, tops = _tree(nodes)
    names = {report["operator"] for report in reports}
    ran = [node for node in _from_the_top(tops, below) if node.name in names]
    is_same = [node.name for node in ran] == [report["operator"] for report in reports]
    # The server has planned the query anew: the sides in its reports have read nothing.
    for report in reports:
        report["leftRows"] = report["rightRows"] = None
    if not is_same:
        return
    for report, join in zip(reports, ran, strict=True):
        report["hasRun"] = True
        report["metrics"] = _metrics(join)
        sides = below.get(join.plan_id, [])
        if len(sides) == 2:
            report["leftRows"], report["rightRows"] = (_rows(side, below) for side in sides)


_Below = Mapping[int, Sequence["PlanMetrics"]]


def _tree(nodes: Sequence[PlanMetrics]) -> tuple[_Below, Sequence[PlanMetrics]]:
    """The nodes below each, in their order, and those at the top."""
    known = {node.plan_id for node in nodes}
    below: dict[int, list[PlanMetrics]] = {}
    tops: list[PlanMetrics] = []
    for node in nodes:
        # The node at the top names itself.
        is_top = node.parent_plan_id not in known or node.parent_plan_id == node.plan_id
        (tops if is_top else below.setdefault(node.parent_plan_id, [])).append(node)
    return below, tops


def _from_the_top(tops: Sequence[PlanMetrics], below: _Below) -> Iterator[PlanMetrics]:
    for node in tops:
        yield node
        yield from _from_the_top(below.get(node.plan_id, []), below)


def _metrics(node: PlanMetrics) -> dict[str, int]:
    return {value.name: int(value.value) for value in node.metrics}


def _rows(side: PlanMetrics, below: _Below) -> int | None:
    """The rows of a side, by the first node below that counts them, without copies."""
    node = side
    while node.name.startswith(("WholeStageCodegen", "CodegenBoundary")) or (
        node.name in _AS_MANY_ROWS or node.name.endswith("QueryStage")
    ):
        inputs = below.get(node.plan_id, [])
        if len(inputs) != 1:
            return None
        (node,) = inputs
    metrics = _metrics(node)
    if "shuffleRecordsWritten" not in metrics:
        return metrics.get("numOutputRows")
    return metrics["shuffleRecordsWritten"] - _copies(below.get(node.plan_id, []), below)


def _copies(inputs: Sequence[PlanMetrics], below: _Below) -> int:
    """Rows that the buckets just below a shuffle have made of others."""
    for node in inputs:
        metrics = _metrics(node)
        if "numCopies" in metrics:
            return metrics["numCopies"]
        if node.name.startswith("WholeStageCodegen") or node.name == "InputAdapter":
            return _copies(below.get(node.plan_id, []), below)
    return 0
