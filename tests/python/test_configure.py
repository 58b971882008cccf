"""`configure` merges into what a builder, the command line and the defaults hold; no JVM."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark
import pytest
from lines import explains
from pyspark.sql import SparkSession

from rangejoin import EXTENSION_CLASS, RangeJoinError, configure, jar_path
from rangejoin.names import EXPLAIN_CLASS, EXPLAIN_CONF
from rangejoin.session import add_extension, add_jar


def configured(builder: SparkSession.Builder | None = None) -> tuple[str, str]:
    """Returns `spark.jars` and `spark.sql.extensions` after `configure`."""
    options = configure(builder or SparkSession.builder)._options
    return options["spark.jars"], options["spark.sql.extensions"]


COMET = "org.apache.comet.CometSparkSessionExtensions"


@pytest.mark.usefixtures("outside_spark")
class TestWithoutJvm:
    """Nothing runs yet: the JVM will be started by `getOrCreate`."""

    def test_an_empty_builder_gets_the_jar_and_the_extension(self) -> None:
        assert configured() == (jar_path(), EXTENSION_CLASS)

    def test_the_same_builder_comes_back_with_its_other_options(self) -> None:
        builder = SparkSession.builder.appName("mine")
        assert configure(builder) is builder
        assert builder._options["spark.app.name"] == "mine"

    def test_what_the_builder_holds_stays_first_and_in_order(self) -> None:
        builder = SparkSession.builder.config("spark.jars", "b.jar, a.jar")
        builder.config("spark.sql.extensions", "x.B,x.A")
        assert configured(builder) == (f"b.jar,a.jar,{jar_path()}", f"x.B,x.A,{EXTENSION_CLASS}")

    def test_the_extension_comes_before_that_of_comet(self) -> None:
        builder = SparkSession.builder.config("spark.sql.extensions", f"x.A,{COMET},x.B")
        assert configured(builder)[1] == f"x.A,{EXTENSION_CLASS},{COMET},x.B"
        assert configured(builder)[1] == f"x.A,{EXTENSION_CLASS},{COMET},x.B"

    def test_a_second_call_changes_nothing(self) -> None:
        builder = SparkSession.builder
        assert configured(builder) == configured(builder)

    def test_explain_tells_of_range_joins_beside_what_it_tells_already(self) -> None:
        assert configure(SparkSession.builder)._options[EXPLAIN_CONF] == EXPLAIN_CLASS
        builder = SparkSession.builder.config(EXPLAIN_CONF, "x.Explains")
        assert configure(builder)._options[EXPLAIN_CONF] == f"x.Explains,{EXPLAIN_CLASS}"
        assert configure(builder)._options[EXPLAIN_CONF] == f"x.Explains,{EXPLAIN_CLASS}"

    def test_submit_arguments_are_merged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        arguments = "--jars a.jar -c spark.sql.extensions=x.A pyspark-shell"
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
        assert configured() == (f"a.jar,{jar_path()}", f"x.A,{EXTENSION_CLASS}")

    @pytest.mark.parametrize(
        "form", ["--jars {}", "--jars={}", "--conf spark.jars={}", "--conf=spark.jars={}"]
    )
    def test_jars_of_the_submit_arguments_would_win_so_ours_is_added_there(
        self, form: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", form.format("a.jar") + " pyspark-shell")
        configured()
        expected = form.format(f"a.jar,{jar_path()}") + " pyspark-shell"
        assert os.environ["PYSPARK_SUBMIT_ARGS"] == expected

    def test_submit_arguments_without_jars_are_left_alone(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arguments = "--driver-memory 2g --conf 'spark.x=a b' pyspark-shell"
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
        configured()
        assert os.environ["PYSPARK_SUBMIT_ARGS"] == arguments

    def test_the_jars_flag_wins_over_a_conf_and_a_later_conf_over_an_earlier(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arguments = (
            "--jars a.jar --conf spark.jars=b.jar "
            "--conf spark.sql.extensions=x.A --conf spark.sql.extensions=x.B pyspark-shell"
        )
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
        assert configured() == (f"a.jar,{jar_path()}", f"x.B,{EXTENSION_CLASS}")

    def test_defaults_file_is_merged(self, outside_spark: Path) -> None:
        defaults = "# comment\n\nspark.jars   a.jar\nspark.sql.extensions = x.A  \n"
        (outside_spark / "spark-defaults.conf").write_text(defaults)
        assert configured() == (f"a.jar,{jar_path()}", f"x.A,{EXTENSION_CLASS}")

    def test_a_named_properties_file_replaces_the_defaults(
        self, outside_spark: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (outside_spark / "spark-defaults.conf").write_text("spark.jars a.jar\n")
        named = outside_spark / "named.conf"
        named.write_text("spark.jars:b.jar\n")
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {named} pyspark-shell")
        assert configured()[0] == f"b.jar,{jar_path()}"

    def test_the_builder_wins_over_arguments_and_arguments_over_defaults(
        self, outside_spark: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (outside_spark / "spark-defaults.conf").write_text(
            "spark.jars d.jar\nspark.sql.extensions x.D\n"
        )
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.jars=c.jar pyspark-shell")
        builder = SparkSession.builder.config("spark.sql.extensions", "x.B")
        assert configured(builder) == (f"c.jar,{jar_path()}", f"x.B,{EXTENSION_CLASS}")

    def test_a_spark_without_range_joins_is_left_as_it_is_with_one_warning(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pyspark, "__version__", "4.4.1")
        builder = SparkSession.builder
        with pytest.warns(UserWarning, match=r"is for Spark 3\.5, .* and this is Spark 4\.4\.1"):
            assert configure(builder) is builder
        assert builder._options == {}

    def test_a_client_of_a_server_is_told_to_configure_the_server(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        remedy = r"sc://host:1 .*start the server with .*--jars .*--conf spark\.sql\.extensions"
        with pytest.raises(RangeJoinError, match=remedy):
            configure(SparkSession.builder.config("spark.remote", "sc://host:1"))
        monkeypatch.setenv("SPARK_REMOTE", "sc://host:1")
        with pytest.raises(RangeJoinError, match=remedy):
            configure(SparkSession.builder)


def test_a_jar_of_the_same_name_elsewhere_counts_as_the_same() -> None:
    assert add_jar("hdfs://store/lib/ours.jar,a.jar", "/here/ours.jar") == (
        "hdfs://store/lib/ours.jar,a.jar"
    )


def test_blanks_and_duplicates_are_dropped() -> None:
    assert add_extension(f" x.A,, x.A ,{EXTENSION_CLASS}") == f"x.A,{EXTENSION_CLASS}"


def test_an_active_session_with_the_extension_needs_no_warning(
    spark: SparkSession, recwarn: pytest.WarningsRecorder
) -> None:
    again = configure(SparkSession.builder).getOrCreate()
    assert again is spark
    assert not [warning for warning in recwarn if "range join" in str(warning.message)]


@explains
def test_explain_says_why_a_join_is_none(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    points = spark.range(10).selectExpr("id AS p")
    spans = spark.range(10).selectExpr("id AS lo", "id + 1 AS hi")
    in_span = (points.p >= spans.lo) & (points.p < spans.hi)
    points.join(spans.hint("shuffle_replicate_nl"), in_span).explain()
    printed = capsys.readouterr().out
    assert "== Extended Information (Range joins) ==" in printed
    assert "1. CartesianProduct, INNER\n   no range join: there is no equi key" in printed
