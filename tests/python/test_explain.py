"""`rangejoin.explain`: what it says of joins, before and after they have run."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import rangejoin
from rangejoin import cli
from rangejoin.cli import main
from rangejoin.rendered import MAX_LENGTH, size

SIDE = "(SELECT id % 2 AS k, id AS t, string(id) AS word FROM range(60))"
BAND = "l.k = r.k AND r.t BETWEEN l.t - 4 AND l.t + 4"


def query(spark: SparkSession, condition: str, hint: str = "", kind: str = "") -> DataFrame:
    return spark.sql(
        f"SELECT {hint} l.t, r.t AS other FROM {SIDE} AS l {kind} JOIN {SIDE} AS r ON {condition}"
    )


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_range_join_before_and_after_it_has_run(spark: SparkSession, adaptive: str) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        df = query(spark, f"{BAND} AND (l.t + r.t) % 4 = 0")
        (before,) = rangejoin.explain(df)
        assert before.is_range_join
        assert (before.operator, before.join_type) == ("SortMergeRangeJoin", "INNER")
        assert before.keys == ("l.k = r.k",)
        assert before.range == "(r.t >= (l.t - 4L)) AND (r.t <= (l.t + 4L))"
        assert before.residual == "(((l.t + r.t) % 4L) = 0L)"
        assert (before.streamed, before.buffered) == ("left", "right")
        assert not before.one_sided
        assert before.left_rows is before.output_rows is before.candidates is None
        assert before.candidates_per_row is None
        rows = len(df.collect())
        (after,) = rangejoin.explain(df)
        assert (after.left_rows, after.right_rows) == (60, 60)
        assert after.output_rows == rows > 0
        assert after.candidates is not None
        assert after.candidates > rows
        assert after.candidates_per_row == after.candidates / rows
        assert after.spilled_rows == after.spill_size == 0
        assert after.peak_window_rows is not None
        assert after.peak_memory is not None
        assert after.index_rows is None
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_a_broadcast_range_join_has_an_index(spark: SparkSession) -> None:
    df = query(spark, BAND, "/*+ BROADCAST(r) */")
    df.collect()
    (join,) = found = rangejoin.explain(df)
    assert join.operator == "BroadcastRangeJoin"
    assert (join.left_rows, join.right_rows, join.index_rows) == (60, 60, 60)
    assert join.peak_window_rows is None
    assert "sides          left is streamed, right is broadcast" in str(found)
    assert "index          60 rows, " in str(found)


def test_a_join_by_buckets_has_their_figures(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.join.rangePartitioning.buckets", "4")
    try:
        df = query(spark, "r.t BETWEEN l.t - 4 AND l.t + 4")
        (before,) = rangejoin.explain(df)
        assert (before.operator, before.keys) == ("SortMergeRangeJoin", ())
        assert before.owner in ("left", "right")
        assert before.buckets is before.copies is None
        df.collect()
        (after,) = found = rangejoin.explain(df)
        assert (after.owner, after.buckets) == (before.owner, 4)
        assert (after.left_rows, after.right_rows) == (60, 60)
        assert (after.copies or 0) > 0
        assert (after.largest_bucket or 0) >= 120 // 4
        assert after.sampling_ms is not None
        assert after.sampling_ms > 0
        assert f"buckets        4 (chosen in {after.sampling_ms:,} ms), " in str(found)
        assert f"owner: {after.owner}" in str(found)
    finally:
        spark.conf.unset("spark.sql.join.rangePartitioning.buckets")


def test_nothing_is_run_for_an_explanation(spark: SparkSession) -> None:
    tracker = spark.sparkContext.statusTracker()
    before = tracker.getJobIdsForGroup(None)
    text = str(rangejoin.explain(query(spark, BAND)))
    assert text.startswith("1. SortMergeRangeJoin, INNER\n   keys           l.k = r.k\n")
    assert tracker.getJobIdsForGroup(None) == before


def test_a_stock_join_has_its_reason_and_remedy(spark: SparkSession) -> None:
    found = rangejoin.explain(query(spark, "l.k = r.k AND l.t * r.t < 9"))
    join = found[0]
    assert not join.is_range_join
    assert join.range is join.streamed is None
    assert join.reason is not None
    assert "made of columns of both sides" in join.reason
    assert join.remedy is not None
    assert join.remedy.startswith("write it with one side's columns before the comparison")
    assert "condition      ((l.t * r.t) < 9L)" in str(found)
    assert "no range join  ((l.t * r.t) < 9L) compares a value" in str(found)


def test_every_join_of_a_union_and_of_a_subquery_is_told(spark: SparkSession) -> None:
    both = query(spark, BAND).union(query(spark, "l.k = r.k", kind="LEFT"))
    assert [j.join_type for j in rangejoin.explain(both)] == ["INNER", "LEFT OUTER"]
    nested = spark.sql(
        f"SELECT * FROM {SIDE} AS s "
        f"WHERE t < (SELECT max(l.t) FROM {SIDE} AS l JOIN {SIDE} AS r ON {BAND})"
    )
    assert [j.is_range_join for j in rangejoin.explain(nested)] == [True]
    assert str(rangejoin.explain(spark.range(3))) == "The plan has no joins."
    assert len(rangejoin.explain(spark.range(3))) == 0


def test_the_html_escapes_what_comes_from_the_query(spark: SparkSession) -> None:
    found = rangejoin.explain(query(spark, f"{BAND} AND concat(l.word, r.word) <> '<b>&'"))
    page = found._repr_html_()
    assert "&lt;b&gt;&amp;" in page
    assert "<b>&" not in page
    assert page.count("<table>") == page.count("</table>") == 1
    assert repr(found) == str(found)


def test_a_long_condition_is_cut_in_the_text_only(spark: SparkSession) -> None:
    long = " AND ".join(f"l.t + r.t <> -{i}" for i in range(1, 200))
    found = rangejoin.explain(query(spark, f"{BAND} AND {long}"))
    assert len(found[0].residual or "") > 10 * MAX_LENGTH
    assert max(len(line) for line in str(found).splitlines()) < MAX_LENGTH + 20


def test_a_sample_tells_the_pairs_with_and_without_the_range(spark: SparkSession) -> None:
    df = query(spark, BAND)
    (join,) = found = rangejoin.explain(df, sample=True)
    assert join.sample is not None
    assert (join.sample.left_rows, join.sample.right_rows) == (60, 60)
    assert join.sample.key_pairs == join.sample.sampled_pairs == 2 * 30 * 30
    assert join.sample.range_pairs == join.sample.matches == df.count()
    assert "60 x 60 rows: about 1,800 pairs of equal keys, 288 in range, 288 match" in str(found)
    assert rangejoin.explain(df)[0].sample is None


def test_a_sample_names_a_skewed_key(spark: SparkSession) -> None:
    side = "(SELECT IF(id % 4 > 0, 9, id) AS k, id AS t FROM range(60))"
    df = spark.sql(f"SELECT 1 FROM {side} AS l JOIN {side} AS r ON {BAND}")
    (join,) = found = rangejoin.explain(df, sample=True)
    assert join.sample is not None
    assert (join.sample.skewed_key, join.sample.skewed_key_pairs) == ("9", 45 * 45)
    assert join.sample.key_pairs == 45 * 45 + 15
    assert "pairs of equal keys (99% of them of the key 9), " in str(found)
    (even,) = rangejoin.explain(query(spark, BAND), sample=True)
    assert even.sample is not None
    assert even.sample.skewed_key is None


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_sample_asks_a_guarded_part_of_the_condition_of_every_pair(
    spark: SparkSession, ansi: str
) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        guarded = "l.k = r.k AND l.t + r.t > 5 AND r.t >= l.t - 100 / (l.t + r.t)"
        (join,) = rangejoin.explain(query(spark, guarded), sample=True)
        assert join.sample is not None
        assert join.sample.matches == query(spark, guarded).count()
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_a_query_without_rows_has_run(spark: SparkSession) -> None:
    df = query(spark, f"{BAND} AND l.t + r.t < 0")
    assert rangejoin.explain(df)[0].output_rows is None
    assert df.collect() == []
    (join,) = found = rangejoin.explain(df)
    assert join.output_rows == 0
    assert "rows out       0" in str(found)


def test_sizes_are_in_a_unit_that_gives_a_short_number() -> None:
    assert [size(n) for n in (0, 1023, 1024, 5 << 20, 3 << 40)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "5.0 MiB",
        "3.0 TiB",
    ]


def test_a_text_of_sql_is_explained_from_the_command_line(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "job.sql"
    script.write_text(
        f"CREATE OR REPLACE TEMP VIEW l AS SELECT * FROM {SIDE}; -- a view; not a query\n"
        f"CREATE OR REPLACE TEMP VIEW r AS SELECT * FROM {SIDE};\n"
        f"SELECT ';' AS mark, l.t FROM l JOIN r ON {BAND};\n"
    )
    assert main(["explain", str(script)]) == 0
    out = capsys.readouterr().out
    assert out.count("1. SortMergeRangeJoin, INNER") == 1
    assert out.startswith("SELECT ';' AS mark, l.t FROM l JOIN r")
    assert "rows out" not in out
    assert main(["explain", f"SELECT l.t FROM l JOIN r ON {BAND}", "--run", "--sample"]) == 0
    out = capsys.readouterr().out
    assert "rows in        60 left, 60 right" in out
    assert "rows out       288" in out
    assert "1,800 pairs of equal keys" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["SELECT * FROM no_such_table"], "TABLE_OR_VIEW_NOT_FOUND"),
        (["SELECT 1", "--conf", "word"], "write KEY=VALUE"),
    ],
)
def test_what_the_command_line_cannot_explain_is_an_error_that_says_why(
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    assert main(["explain", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_a_statement_may_be_longer_than_a_path(tmp_path: Path) -> None:
    statement = f"SELECT '{'x' * 300}'"
    assert cli._text(statement) == statement
    file = tmp_path / "a.sql"
    file.write_text(statement)
    assert cli._text(str(file)) == statement
