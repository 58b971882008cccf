"""Settings a session will inherit from outside its builder.

A driver started by `spark-submit` (or the pyspark shell) has a JVM that knows them all. A driver
started by plain `python` has no JVM until `getOrCreate`, and one started here would fix the
memory and class path too early; so two places are read by hand instead:

1. `PYSPARK_SUBMIT_ARGS`: `--conf`, `--jars`, `--properties-file`;
2. `spark-defaults.conf` in `SPARK_CONF_DIR`, or in `conf` of the Spark home.

Not seen without a JVM: what `spark-env.sh` changes, `--load-spark-defaults`, and escapes or
continued lines in a properties file.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark import SparkConf, SparkContext

if TYPE_CHECKING:
    from collections.abc import Iterator

SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"

# Flags that stand for a setting, and win over a `--conf` of it.
_FLAG_OF = {"spark.jars": "--jars"}
_PROPERTY = re.compile(r"\s*([^#!\s=:][^\s=:]*)\s*[\s=:]\s*(.*?)\s*")


class _Slot(NamedTuple):
    """Where a value stands on a command line: `words[position] == prefix + value`."""

    position: int
    prefix: str
    value: str


def running_jvm() -> Any | None:
    """Returns the driver's JVM if there is one already (as a py4j view); never starts one."""
    if SparkContext._jvm is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
    return SparkContext._jvm


def inherited_setting(key: str) -> str:
    """Returns the value of `key` that a new session would have without its builder, or `""`."""
    active = SparkContext._active_spark_context
    if active is not None:
        return active.getConf().get(key, "") or ""
    jvm = running_jvm()
    if jvm is not None:
        return SparkConf(loadDefaults=True, _jvm=jvm).get(key, "") or ""
    words = _submit_words()
    slot = _slot(words, key)
    if slot is not None:
        return slot.value
    return _defaults(words).get(key, "")


def submit_setting(key: str) -> str | None:
    """Returns the value of `key` in `PYSPARK_SUBMIT_ARGS`, or None where it is not given."""
    slot = _slot(_submit_words(), key)
    return None if slot is None else slot.value


def replace_submit_setting(key: str, value: str) -> None:
    """Puts `value` in place of the one `PYSPARK_SUBMIT_ARGS` gives for `key`, if it gives one."""
    words = _submit_words()
    slot = _slot(words, key)
    if slot is not None:
        words[slot.position] = slot.prefix + value
        os.environ[SUBMIT_ARGS] = shlex.join(words)


def _submit_words() -> list[str]:
    return shlex.split(os.environ.get(SUBMIT_ARGS, ""))


def _slot(words: list[str], key: str) -> _Slot | None:
    """Finds the place that decides `key`: its own flag first, then the last `--conf`."""
    flag = _FLAG_OF.get(key)
    if flag is not None:
        for slot in _values(words, flag):
            return slot
    for slot in _values(words, "--conf", "-c"):
        name, _, value = slot.value.partition("=")
        if name == key:
            return _Slot(slot.position, f"{slot.prefix}{name}=", value)
    return None


def _values(words: list[str], *flags: str) -> Iterator[_Slot]:
    """Yields the values of `--flag value` and `--flag=value`, the last one first."""
    for index in reversed(range(len(words))):
        flag, equals, value = words[index].partition("=")
        if index > 0 and words[index - 1] in flags:
            yield _Slot(index, "", words[index])
        elif equals and flag in flags:
            yield _Slot(index, f"{flag}=", value)


def _defaults(words: list[str]) -> dict[str, str]:
    """Reads the properties file `spark-submit` would read; empty where there is none."""
    named = next(_values(words, "--properties-file"), None)
    path = Path(named.value) if named else _conf_dir() / "spark-defaults.conf"
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    matches = (_PROPERTY.fullmatch(line) for line in lines)
    return {match[1]: match[2] for match in matches if match}


def _conf_dir() -> Path:
    named = os.environ.get("SPARK_CONF_DIR")
    return Path(named) if named else Path(spark_home() or ".", "conf")


def spark_home() -> str | None:
    """The folder of the Spark that PySpark would start; None where it finds none."""
    from pyspark.find_spark_home import _find_spark_home

    try:
        return str(_find_spark_home())
    except SystemExit:
        return None
