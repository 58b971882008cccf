"""What a user meets who has set something up wrongly; docs/troubleshooting.md lists it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from launching import EXTENSIONS, JOB, SUBMIT, assert_active, fail, launch
from lines import LINE
from pyspark.sql import SparkSession
from settings import conf

from rangejoin import ENABLED_CONF, jar_path


@pytest.fixture
def second_jar(tmp_path: Path) -> str:
    """A copy of the jar under another name."""
    return shutil.copy(jar_path(), str(tmp_path / "copy.jar"))


# To show the error, PySpark asks the session for a setting, which is the error again. Without range
# joins `spark.sql.ansi.enabled=perhaps` does the same.
@pytest.mark.skipif(
    LINE == "4.1", reason="PySpark 4.1.4 does not come to an end with such an error"
)
def test_an_unreadable_flag_is_named_with_its_value_and_type(tmp_path: Path) -> None:
    flag = f"{ENABLED_CONF}=perhaps"
    errors = fail(tmp_path, SUBMIT, "--jars", jar_path(), "--conf", EXTENSIONS, "--conf", flag, JOB)
    # Spark's own sentence.
    if LINE in ("3.5", "4.0"):
        assert f"{ENABLED_CONF} should be boolean, but was perhaps" in errors
    else:
        assert f"The value 'perhaps' in the config \"{ENABLED_CONF}\" is invalid" in errors
        assert "'boolean'" in errors


def test_a_jar_without_the_extension_is_told_to_list_it(tmp_path: Path) -> None:
    (report,), _ = launch(tmp_path, SUBMIT, "--jars", jar_path(), JOB)
    assert "spark.sql.extensions does not list" in report["check"]
    assert f"--conf {EXTENSIONS}" in report["check"]
    assert not report["ranged"]


@pytest.mark.slow
def test_a_misspelt_extension_is_warned_of_by_spark_and_told_by_check(tmp_path: Path) -> None:
    misspelt = EXTENSIONS.removesuffix("s")
    (report,), errors = launch(tmp_path, SUBMIT, "--jars", jar_path(), "--conf", misspelt, JOB)
    name = misspelt.partition("=")[2]
    assert f"Cannot use {name} to configure session extensions" in errors
    assert "does not list" in report["check"]
    assert repr(name) in report["check"]
    assert not report["ranged"]


@pytest.mark.parametrize(
    "first",
    [
        pytest.param("false", id="one loader"),
        pytest.param("true", id="child first", marks=pytest.mark.slow),
    ],
)
def test_the_jar_twice_on_the_class_path_works(tmp_path: Path, second_jar: str, first: str) -> None:
    jars = f"{jar_path()},{second_jar}"
    own = [f"spark.driver.userClassPathFirst={first}", EXTENSIONS]
    class_path = ["--driver-class-path", second_jar]
    (report,), _ = launch(tmp_path, SUBMIT, "--jars", jars, *class_path, *conf(*own), JOB)
    assert_active(report)


def test_a_second_class_loader_finds_the_flag_registered(
    spark: SparkSession, second_jar: str
) -> None:
    jvm: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.io.File(second_jar).toURI().toURL()
    parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader = jvm.org.apache.spark.util.ChildFirstURLClassLoader(urls, parent)
    conf = "org.apache.spark.sql.rangejoin.conf.RangeJoinConf$"
    again = jvm.java.lang.Class.forName(conf, True, loader)
    assert not again.equals(jvm.java.lang.Class.forName(conf, True, parent))
