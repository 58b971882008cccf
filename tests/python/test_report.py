"""The report to send: what is in it, and what is never in it."""

from __future__ import annotations

from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from rangejoin import reported
from rangejoin.cli import main
from rangejoin.errors import RangeJoinError
from rangejoin.reported import report, report_without_session, told_settings

REDACTED = "*********(redacted)"


def told(**settings: str) -> dict[str, str]:
    return dict(told_settings({key.replace("__", "."): settings[key] for key in settings}))


def test_settings_of_joins_are_told_and_others_are_not() -> None:
    assert told(
        spark__sql__shuffle__partitions="7",
        spark__app__name="payroll",
        spark__driver__host="10.0.0.1",
        spark__executorEnv__DB="x",
        spark__yarn__appMasterEnv__DB="x",
        spark__hadoop__fs__s3a__endpoint="x",
    ) == {"spark.sql.shuffle.partitions": "7"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.secretThing", "a"),
        ("spark.sql.x.PASSWORD", "a"),
        ("spark.sql.x", "jdbc;password=a"),
        ("spark.sql.x.accessKey", "a"),
        ("spark.sql.x.access.key", "a"),
    ],
)
def test_a_secret_is_redacted_by_its_name_and_by_its_value(key: str, value: str) -> None:
    assert told_settings({key: value}) == [(key, REDACTED)]


def test_the_redaction_of_a_session_adds_to_sparks() -> None:
    own = {"spark.redaction.regex": "(?i)colour", "spark.sql.colour": "red", "spark.sql.token": "t"}
    assert told_settings(own) == [("spark.sql.colour", REDACTED), ("spark.sql.token", REDACTED)]


def test_where_the_redaction_cannot_be_read_no_value_is_shown() -> None:
    own = {"spark.redaction.regex": "(?<x", "spark.sql.shuffle.partitions": "7"}
    assert told_settings(own) == [("spark.sql.shuffle.partitions", REDACTED)]


@pytest.mark.parametrize(
    "place", ["/data/of/anna", "~/x", "s3://bucket/x", "file:/x", r"C:\x", "a@b.example"]
)
def test_a_place_is_left_out(place: str) -> None:
    assert told_settings({"spark.sql.x": place}) == [("spark.sql.x", "(a path or an address)")]


def test_a_time_zone_is_no_place() -> None:
    zone = {"spark.sql.session.timeZone": "America/Los_Angeles"}
    assert dict(told_settings(zone)) == zone


def test_catalogs_are_left_out_and_jars_lose_their_folders() -> None:
    settings = {
        "spark.sql.catalog.prod.uri": "thrift",
        "spark.sql.warehouse.dir": "x",
        "spark.jars": "s3://bucket/a.jar, /home/anna/b.jar",
    }
    assert told_settings(settings) == [("spark.jars", "a.jar, b.jar")]


def test_the_rule_is_that_of_this_spark(spark: SparkSession) -> None:
    jvm: Any = vars(spark)["_jvm"]
    config = getattr(getattr(jvm, "org.apache.spark.internal.config.package$"), "MODULE$")
    assert config.SECRET_REDACTION_PATTERN().defaultValueString() == reported._SECRET


def test_a_report_has_versions_jar_check_and_settings(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANGEJOIN_PLANTED", "planted-value")
    spark.conf.set("spark.sql.planted.password", "planted-password")
    try:
        text = report(spark)
    finally:
        spark.conf.unset("spark.sql.planted.password")
    lines = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    line = ".".join(pyspark.__version__.split(".")[:2])
    assert lines["PySpark"] == pyspark.__version__
    assert lines["Spark"].startswith(pyspark.__version__.split("-")[0])
    assert lines["Scala"].startswith("2.1")
    assert lines["Java"][0].isdigit()
    assert lines["loaded from"].startswith(f"spark-range-join_{line}_")
    assert lines["check"] == "range joins are active"
    assert {lines["missing symbols"], lines["switched off"]} <= {"none", reported.NOT_KNOWN}
    assert "  spark.sql.shuffle.partitions = 2" in text
    assert f"  spark.sql.planted.password = {REDACTED}" in text
    assert "planted-" not in text
    assert "/" not in lines["loaded from"]


class Double:
    """A JVM, a class, an object and a sequence of Scala: whatever is asked of it."""

    def __init__(self, answer: list[str]) -> None:
        self.answer = answer

    def __getattr__(self, name: str) -> Any:  # noqa: D105
        return self

    def __call__(self, *arguments: Any) -> Any:
        return self

    def size(self) -> int:
        return len(self.answer)

    def apply(self, index: int) -> str:
        return self.answer[index]


def test_what_is_missing_and_switched_off_is_what_the_jar_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jvm = Double(["class a.B", "method a.C d ()V"])
    monkeypatch.setattr(reported, "can_load", lambda jvm, name: True)
    assert reported.missing_symbols(jvm) == ["class a.B", "method a.C d ()V"]
    assert reported.switched_off(jvm, object()) == ["class a.B", "method a.C d ()V"]
    monkeypatch.setattr(reported, "can_load", lambda jvm, name: False)
    assert reported.missing_symbols(jvm) is None
    assert reported.switched_off(jvm, object()) is None


class BrokenSession:
    """A session in which nothing works."""

    version = "4.2.0"

    @property
    def conf(self) -> Any:
        raise OSError("conf")

    def sql(self, query: str) -> Any:
        raise OSError(query)


def test_a_report_comes_out_of_a_session_in_which_nothing_works() -> None:
    text = report(BrokenSession())  # type: ignore[arg-type]
    for name in ("Spark", "Scala", "Java", "loaded from", "check"):
        assert f"{name}: not known" in text
    assert text.endswith("settings: not known")


def test_a_report_comes_out_where_no_session_starts() -> None:
    text = report_without_session(RuntimeError("no class X\n\tat somewhere"))
    assert text.endswith("session: did not start: no class X")
    assert f"PySpark: {pyspark.__version__}" in text


def test_the_command_prints_it(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--report"]) == 0
    assert "check: range joins are active" in capsys.readouterr().out
    assert main(["check"]) == 0
    assert capsys.readouterr().out == "range joins are active\n"


def test_the_command_fails_where_range_joins_are_not_active(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(settings: list[str]) -> SparkSession:
        raise RangeJoinError("no session\nfor you")

    monkeypatch.setattr("rangejoin.session.session_with", refuse)
    assert main(["check", "--report"]) == 1
    shown = capsys.readouterr()
    assert "session: did not start: no session" in shown.out
    assert "Spark did not start: no session" in shown.err
