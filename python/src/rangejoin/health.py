"""Telling whether a session really has the range join."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from rangejoin.errors import RangeJoinError
from rangejoin.explained import explain
from rangejoin.names import (
    COMET_EXTENSION_CLASS,
    ENABLED_CONF,
    EXTENSION_CLASS,
    EXTENSIONS_CONF,
    PLAN_NODE,
    SERVER_REMEDY,
    SPARK_LINES,
    SWITCHED_OFF,
)
from rangejoin.packaged import line_of
from rangejoin.session import can_load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# SQL, because EXPLAIN answers alike in a classic and in a Spark Connect session.
_PROBE = """
SELECT /*+ MERGE(r) */ *
FROM (SELECT id % 2 AS k, id AS y FROM range(4)) AS l
JOIN (SELECT id % 2 AS k, id AS y FROM range(4)) AS r
  ON l.k = r.k AND r.y BETWEEN l.y - 1 AND l.y + 1
"""

_REMEDY = (
    "build the session with rangejoin.configure(SparkSession.builder).getOrCreate(), after "
    "stop() on one that already runs; or start it with `spark-submit --jars "
    f'"$(rangejoin jar)" --conf {EXTENSIONS_CONF}={EXTENSION_CLASS}`'
)


def check(spark: SparkSession) -> None:
    """Returns if `spark` plans range joins, and raises otherwise.

    A small band join is planned, not run. A session whose switch
    (`spark.sql.join.smj.useInnerRangeOptimization`) is off, or whose hints are
    (`spark.sql.optimizer.disableHints`), passes without that last test. In a Spark Connect
    session the class path of the server cannot be inspected, so the planned join alone decides.

    Raises:
        RangeJoinError: there are no range joins for this line of Spark; or the extension is not in
            `spark.sql.extensions`, or behind that of Comet; or its class cannot be loaded; or the
            join was planned by stock Spark all the same. The message names the remedy.
    """
    _require_version(spark.version)
    _require_listed(spark)
    _require_class(spark)
    _require_planned(spark)


def _require_version(version: str) -> None:
    if line_of(version) is None:
        lines = ", ".join(SPARK_LINES)
        raise RangeJoinError(
            f"Spark is {version}, range joins work in {lines} and step aside in any other: use one "
            f"of these, such as pip install 'pyspark=={SPARK_LINES[-1]}.*'"
        )


def _require_listed(spark: SparkSession) -> None:
    listed = spark.conf.get(EXTENSIONS_CONF, "") or ""
    entries = [entry.strip() for entry in listed.split(",")]
    if EXTENSION_CLASS not in entries:
        raise RangeJoinError(
            f"{EXTENSIONS_CONF} does not list {EXTENSION_CLASS} (it is {listed!r}): "
            f"{_remedy(spark)}"
        )
    before = entries[: entries.index(EXTENSION_CLASS)]
    if COMET_EXTENSION_CLASS in before and _is_true(spark, "spark.comet.enabled", "true"):
        raise RangeJoinError(
            f"{EXTENSIONS_CONF} lists {COMET_EXTENSION_CLASS} before {EXTENSION_CLASS}: Comet "
            "replaces joins before they can become range joins; list it last"
        )


def _require_class(spark: SparkSession) -> None:
    # A Connect session answers for `_jvm` with an error of its own.
    jvm = vars(spark).get("_jvm")
    if jvm is not None and not can_load(jvm, EXTENSION_CLASS):
        raise RangeJoinError(
            f"{EXTENSIONS_CONF} lists {EXTENSION_CLASS}, but the driver has no such class: the "
            f"jar is not on its class path, and Spark only warned; {_REMEDY}"
        )


def _require_planned(spark: SparkSession) -> None:
    if not _is_true(spark, ENABLED_CONF, "true"):
        return
    if _is_true(spark, "spark.sql.optimizer.disableHints", "false"):
        return
    plan = str(spark.sql("EXPLAIN" + _PROBE).collect()[0][0])
    off = _switched_off(spark)
    if PLAN_NODE not in plan and off:
        raise RangeJoinError("; ".join(off))
    for what in off:
        warnings.warn(what, stacklevel=3)
    if PLAN_NODE not in plan:
        raise RangeJoinError(
            "the extension is listed, but a band join was planned without it; most likely Spark "
            "was running before the extension was added, or the jar is for another Spark than "
            f"{spark.version}: {_remedy(spark)}. The plan:\n{plan}"
        )


def _switched_off(spark: SparkSession) -> list[str]:
    """What has failed on this Spark, of which every join of the session is told."""
    try:
        joins = explain(spark.sql(_PROBE)).joins
    except RangeJoinError:  # A server without the jar.
        return []
    return [what for join in joins for what in join.advice if SWITCHED_OFF in what]


def _remedy(spark: SparkSession) -> str:
    is_client = type(spark).__module__.startswith("pyspark.sql.connect.")
    return SERVER_REMEDY if is_client else _REMEDY


def _is_true(spark: SparkSession, key: str, default: str) -> bool:
    return (spark.conf.get(key, default) or default).lower() == "true"
