"""`check` tells the ways apart in which the extension can be inactive."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

import rangejoin
from rangejoin import ENABLED_CONF, EXTENSION_CLASS, RangeJoinError, check, health


class FakeSession:
    """As much of a Spark Connect session as `check` asks for: it has no `_jvm`."""

    def __init__(self, settings: dict[str, str], version: str = "4.2.0", plan: str = "") -> None:
        self.settings = settings
        self.version = version
        self.plan = plan
        self.queries: list[str] = []

    @property
    def conf(self) -> Any:
        return self.settings

    def sql(self, query: str) -> Any:
        self.queries.append(query)
        return self

    def collect(self) -> list[tuple[str]]:
        return [(self.plan,)]


@pytest.fixture(autouse=True)
def explained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The advice on the join that `check` plans in a fake session."""
    advice: list[str] = []

    def explained(df: Any) -> Any:
        if isinstance(df, FakeSession):
            return SimpleNamespace(joins=[SimpleNamespace(advice=advice)])
        return rangejoin.explain(df)

    monkeypatch.setattr(health, "explain", explained)
    return advice


ACTIVE = {"spark.sql.extensions": f"x.A, {EXTENSION_CLASS}"}


def check_fake(session: FakeSession) -> None:
    check(session)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["4.4.0", "4.20.0", "3.4.9"])
def test_another_spark_version_is_named(version: str) -> None:
    with pytest.raises(RangeJoinError, match=rf"Spark is {version}, .* work in 3\.5, 4\.0"):
        check_fake(FakeSession(ACTIVE, version=version))


@pytest.mark.parametrize("settings", [{}, {"spark.sql.extensions": "x.A"}])
def test_a_session_without_the_extension_is_told_to_configure(settings: dict[str, str]) -> None:
    with pytest.raises(RangeJoinError, match=r"does not list .*rangejoin\.configure"):
        check_fake(FakeSession(settings))


def test_an_extension_behind_that_of_comet_is_told_to_come_first() -> None:
    comet = "org.apache.comet.CometSparkSessionExtensions"
    behind = {"spark.sql.extensions": f"{comet},{EXTENSION_CLASS}"}
    with pytest.raises(RangeJoinError, match=r"lists .*Comet.* before .*list it last"):
        check_fake(FakeSession(behind))
    check_fake(FakeSession(behind | {"spark.comet.enabled": "false"}, plan="SortMergeRangeJoin"))
    first = {"spark.sql.extensions": f"{EXTENSION_CLASS}, {comet}"}
    check_fake(FakeSession(first, plan="SortMergeRangeJoin"))


def test_a_client_of_a_server_without_the_extension_is_told_to_configure_the_server() -> None:
    client = type("Client", (FakeSession,), {"__module__": "pyspark.sql.connect.session"})
    with pytest.raises(RangeJoinError, match=r"does not list .*start the server with .*--jars"):
        check_fake(client({}))


def test_a_stock_plan_is_refused_and_shown() -> None:
    with pytest.raises(RangeJoinError, match=r"(?s)planned without it.*\+- SortMergeJoin \[k\]"):
        check_fake(FakeSession(ACTIVE, plan="+- SortMergeJoin [k]"))


def test_what_has_failed_on_this_spark_is_named(explained: list[str]) -> None:
    explained += ["write the table sorted", "plan.A is switched off in this session: no B; report"]
    with pytest.raises(RangeJoinError, match=r"^plan\.A is switched off .*: no B; report$"):
        check_fake(FakeSession(ACTIVE, plan="+- SortMergeJoin [k]"))
    with pytest.warns(UserWarning, match=r"^plan\.A is switched off"):
        check_fake(FakeSession(ACTIVE, plan="+- SortMergeRangeJoin [k]"))


def test_a_range_join_in_the_plan_passes_without_a_jvm_to_look_into() -> None:
    check_fake(FakeSession(ACTIVE, plan="+- SortMergeRangeJoin [k]"))


@pytest.mark.parametrize(
    "setting", [{ENABLED_CONF: "FALSE"}, {"spark.sql.optimizer.disableHints": "true"}]
)
def test_with_the_flag_or_hints_off_nothing_is_planned(setting: dict[str, str]) -> None:
    session = FakeSession(ACTIVE | setting)
    check_fake(session)
    assert session.queries == []


def test_a_configured_session_passes(spark: SparkSession) -> None:
    check(spark)


def test_a_configured_session_passes_with_the_flag_off(spark: SparkSession) -> None:
    spark.conf.set(ENABLED_CONF, "false")
    try:
        check(spark)
    finally:
        spark.conf.unset(ENABLED_CONF)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_the_probe_holds_with_and_without_aqe(spark: SparkSession, adaptive: str) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        check(spark)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
