"""Adding the extension to a session that is about to be built."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from rangejoin.errors import RangeJoinError
from rangejoin.inherited import (
    inherited_setting,
    replace_submit_setting,
    running_jvm,
    submit_setting,
)
from rangejoin.names import (
    COMET_EXTENSION_CLASS,
    EXPLAIN_CLASS,
    EXPLAIN_CONF,
    EXTENSION_CLASS,
    EXTENSIONS_CONF,
    JARS_CONF,
    SERVER_REMEDY,
    SPARK_LINES,
)
from rangejoin.packaged import jar_path, line_of


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Adds the packaged jar and the extension to `builder`, keeping what is there.

    `spark.jars`, `spark.sql.extensions` and `spark.sql.extendedExplainProviders` (which adds to
    EXPLAIN why a join is a range join, or is none) are merged into the value that would hold
    without this call: the builder's own, or else that of `spark-submit`, `PYSPARK_SUBMIT_ARGS` or
    `spark-defaults.conf` (see `rangejoin.inherited`). Order is kept, ours comes last, but for
    Comet's extension, which would take the joins; nothing is listed twice. Call it after other
    options that set these keys.

    How the jar reaches the driver depends on its JVM. Where none runs yet, Spark starts one with
    `spark.jars` on its class path; a list of jars in `PYSPARK_SUBMIT_ARGS` would win over the
    builder's, so the jar is added to that variable as well. Where one runs without a
    SparkContext (`spark-submit`, or after `spark.stop()`), the jar is added to its class loader.

    In a Spark that there are no range joins for, nothing is added: a warning says so, and joins
    are planned by stock Spark.

    A session that already runs cannot be given an extension: `getOrCreate` would return it as
    it is. A warning says so here, and `rangejoin.check` raises.

    On a cluster, Spark forgets the jars of `spark.jars.packages` for executors when a builder
    sets `spark.jars`; there, use `spark-submit --jars` and `--packages` instead.

    Args:
        builder: a builder of a classic session; changed in place.

    Returns:
        The same builder.

    Raises:
        RangeJoinError: the packaged jar is missing; or the builder is that of a client of a Spark
            Connect server, where the extension belongs.
    """
    options: dict[str, Any] = builder._options
    remote = str(options.get("spark.remote") or os.environ.get("SPARK_REMOTE", ""))
    if remote.startswith("sc://"):
        raise RangeJoinError(f"a client cannot give {remote} an extension: {SERVER_REMEDY}")
    if line_of(pyspark.__version__) is None:
        warnings.warn(
            f"spark-range-join is for Spark {', '.join(SPARK_LINES)} and this is Spark "
            f"{pyspark.__version__}: joins are planned by stock Spark",
            stacklevel=2,
        )
        return builder
    jar = jar_path()
    jars = options.get(JARS_CONF) or inherited_setting(JARS_CONF)
    extensions = options.get(EXTENSIONS_CONF) or inherited_setting(EXTENSIONS_CONF)
    builder.config(JARS_CONF, add_jar(jars, jar))
    builder.config(EXTENSIONS_CONF, add_extension(extensions))
    _prepare_driver(jar)
    jvm = running_jvm()
    # Spark fails every query of a session that names a provider it cannot load.
    if jvm is None or can_load(jvm, EXPLAIN_CLASS):
        providers = options.get(EXPLAIN_CONF) or inherited_setting(EXPLAIN_CONF)
        builder.config(EXPLAIN_CONF, add_class(providers, EXPLAIN_CLASS))
    return builder


def session_with(settings: Sequence[str]) -> SparkSession:
    """A session with the extension and with settings, each `KEY=VALUE`.

    Raises:
        RangeJoinError: a setting has no `=`.
    """
    builder: Any = SparkSession.builder
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise RangeJoinError(f"--conf {setting}: write KEY=VALUE")
        builder = builder.config(key, value)
    return configure(builder).getOrCreate()


def add_jar(jars: str, jar: str) -> str:
    """Returns the comma separated list `jars` with `jar` in it once.

    A jar of the same file name counts as the same, wherever it lies: `spark-submit` and cluster
    storage name it by other paths or URIs.
    """
    entries = _entries(jars)
    if PurePath(jar).name not in (PurePath(entry).name for entry in entries):
        entries.append(jar)
    return ",".join(entries)


def add_extension(extensions: str) -> str:
    """Returns the comma separated class names `extensions` with this project's in it once.

    Ours comes last, but before that of Comet.
    """
    entries = _entries(extensions)
    if EXTENSION_CLASS not in entries:
        taken = [i for i, entry in enumerate(entries) if entry == COMET_EXTENSION_CLASS]
        entries.insert(taken[0] if taken else len(entries), EXTENSION_CLASS)
    return ",".join(entries)


def add_class(classes: str, ours: str) -> str:
    """Returns the comma separated names `classes` with `ours` in it once."""
    entries = _entries(classes)
    if ours not in entries:
        entries.append(ours)
    return ",".join(entries)


def _entries(setting: str) -> list[str]:
    stripped = (entry.strip() for entry in setting.split(","))
    return list(dict.fromkeys(entry for entry in stripped if entry))


def _prepare_driver(jar: str) -> None:
    """Sees to it that the driver's class loader will find the extension."""
    active = SparkContext._active_spark_context
    jvm = running_jvm()
    if active is not None:
        if EXTENSION_CLASS not in _entries(active.getConf().get(EXTENSIONS_CONF, "") or ""):
            warnings.warn(
                "Spark already runs without the range join extension, and getOrCreate() will "
                "return it as it is: call stop() on it first",
                stacklevel=3,
            )
    elif jvm is not None:
        _add_to_class_loader(jvm, jar)
    else:
        given = submit_setting(JARS_CONF)
        if given is not None:
            replace_submit_setting(JARS_CONF, add_jar(given, jar))


def _add_to_class_loader(jvm: Any, jar: str) -> None:
    """Adds `jar` to the class loader of a running driver, unless it knows the extension."""
    if can_load(jvm, EXTENSION_CLASS):
        return
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    # A loader of another make takes no further jars; `check` will name the remedy.
    with suppress(Py4JError):
        loader.addURL(jvm.java.io.File(jar).toURI().toURL())


def can_load(jvm: Any, class_name: str) -> bool:
    """Tells whether the driver finds `class_name` where Spark looks for its extensions."""
    try:
        jvm.org.apache.spark.util.Utils.classForName(class_name, False, False)
    except Py4JError:
        return False
    return True


def loaded_class(jvm: Any, class_name: str) -> Any:
    """A class of the driver.

    Raises:
        RangeJoinError: the jar of the range join is not on its class path.
    """
    if not can_load(jvm, class_name):
        raise RangeJoinError(
            f"the driver has no class {class_name}: the jar of the range join is not on its "
            "class path; build the session with rangejoin.configure(SparkSession.builder)"
        )
    return getattr(jvm, class_name)
