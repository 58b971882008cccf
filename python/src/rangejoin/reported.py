"""What to send with the report of a failure: versions, what is missing, settings without secrets.

It has to come out where anything may be broken, so what cannot be found out is "not known", and
no line stops the next. Environment variables are in none of it, under whatever name.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import pyspark

from rangejoin.errors import RangeJoinError
from rangejoin.health import check
from rangejoin.names import (
    EXTENSION_CLASS,
    EXTENSIONS_CONF,
    GUARD_CLASS,
    JARS_CONF,
    LINKS_CLASS,
)
from rangejoin.packaged import jar_path
from rangejoin.session import can_load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOT_KNOWN = "not known"

# The default of `spark.redaction.regex`; what a session adds to it counts as well.
_SECRET = r"(?i)secret|password|token|access[.]?key"
_REDACTION_CONF = "spark.redaction.regex"
_REDACTED = "*********(redacted)"

# What decides how joins are planned and run, by the beginning of its name.
_TOLD = (
    "spark.sql.",
    "spark.comet.",
    "spark.gluten.",
    "spark.rapids.sql.",
    "spark.plugins",
    "spark.serializer",
    "spark.kryo.",
    "spark.memory.",
    "spark.driver.memory",
    "spark.executor.memory",
    "spark.executor.cores",
    "spark.task.cpus",
    "spark.dynamicAllocation.enabled",
    "spark.shuffle.manager",
    "spark.shuffle.service.enabled",
    "spark.submit.deployMode",
)
# Of these, what names a place or a person.
_PRIVATE = ("spark.sql.catalog.", "spark.sql.hive.", "spark.sql.warehouse.")
# A path, or an address.
_PLACE = re.compile(r"^/|^~|\w:[/\\]|@")


def report(spark: SparkSession) -> str:
    """Returns what to send with the report of a failure, as text.

    Versions of what runs, where the extension comes from, what `rangejoin.check` says, symbols of
    Spark that it misses, what of it is switched off, and the settings that decide how joins are
    planned and run. Settings that Spark itself redacts in its logs (`spark.redaction.regex`) are
    redacted; paths and addresses are left out, and so are catalogs. Nothing is read of the
    environment, and no query is run but `SET`, `EXPLAIN` and `SELECT version()`.

    Args:
        spark: the session, classic or of Spark Connect.
    """
    # A Connect session answers for `_jvm` with an error of its own.
    jvm = vars(spark).get("_jvm")
    settings = _settings(spark)
    lines = [
        *_versions_here(),
        _line("Spark", lambda: str(spark.sql("SELECT version()").collect()[0][0])),
        _line("session", lambda: "classic" if jvm is not None else "Spark Connect"),
        _line("Scala", lambda: _of(jvm).scala.util.Properties.versionNumberString()),
        _line("Java", lambda: _java(_of(jvm))),
        _line("loaded from", lambda: _loaded_from(_of(jvm))),
        _line("check", lambda: _checked(spark)),
        _line("missing symbols", lambda: _listed(missing_symbols(_of(jvm)))),
        _line(
            "switched off", lambda: _listed(switched_off(_of(jvm), vars(spark)["_jsparkSession"]))
        ),
    ]
    if settings is None:
        return "\n".join([*lines, f"settings: {NOT_KNOWN}"])
    told = [f"  {key} = {value}" for key, value in told_settings(settings)]
    return "\n".join([*lines, "settings that are given:", *told])


def report_without_session(error: BaseException) -> str:
    """The same where no session started: what is known of this process, and the error."""
    first = str(error).strip().splitlines()[:1] or [type(error).__name__]
    return "\n".join([*_versions_here(), f"session: did not start: {first[0]}"])


def missing_symbols(jvm: Any) -> list[str] | None:
    """What the extension links to and this Spark has not; None where its jar cannot tell."""
    if not can_load(jvm, LINKS_CLASS):
        return None
    # The loader that has the jar: it may have come by `spark.jars`.
    return _words(getattr(jvm, LINKS_CLASS)(_extension(jvm).getClassLoader()).missing())


def switched_off(jvm: Any, session: Any) -> list[str] | None:
    """What of the extension is switched off in a session and why; None where it cannot tell."""
    if not can_load(jvm, GUARD_CLASS):
        return None
    return _words(getattr(jvm, GUARD_CLASS).of(session).switchedOff())


def _extension(jvm: Any) -> Any:
    """The class of the extension, as an object of Java."""
    return jvm.org.apache.spark.util.Utils.classForName(EXTENSION_CLASS, False, False)


def _words(sequence: Any) -> list[str]:
    """The words of a sequence of Scala."""
    return [str(sequence.apply(i)) for i in range(sequence.size())]


def told_settings(settings: dict[str, str]) -> list[tuple[str, str]]:
    """The settings to tell, in order, with what is to be seen of their values."""
    secret = _secrets(settings.get(_REDACTION_CONF))
    told = []
    for key in sorted(settings):
        value = settings[key]
        if key == JARS_CONF:
            value = ", ".join(PurePath(jar.strip()).name for jar in value.split(","))
        elif not key.startswith(_TOLD) or key.startswith(_PRIVATE):
            continue
        if secret is None or secret(key) or secret(value):
            value = _REDACTED
        elif key != JARS_CONF and _PLACE.search(value):
            value = "(a path or an address)"
        told.append((key, value))
    return told


def _secrets(given: str | None) -> Callable[[str], bool] | None:
    """Whether a name or a value is a secret, as Spark tells; None where its rule cannot be read."""
    try:
        patterns = [re.compile(rule) for rule in (_SECRET, given) if rule]
    except re.error:
        return None
    return lambda word: any(pattern.search(word) for pattern in patterns)


def _line(name: str, of: Callable[[], Any]) -> str:
    try:
        return f"{name}: {of()}"
    except Exception as error:
        return f"{name}: {NOT_KNOWN} ({type(error).__name__})"


def _versions_here() -> list[str]:
    return [
        _line("spark-range-join", _own_version),
        _line("jar for this PySpark", lambda: PurePath(jar_path()).name),
        _line("PySpark", lambda: pyspark.__version__),
        _line("Python", lambda: f"{platform.python_version()}, {platform.system()}"),
    ]


def _own_version() -> str:
    try:
        return version("spark-range-join")
    except PackageNotFoundError:
        return "not installed as a package"


def _of(jvm: Any | None) -> Any:
    """The JVM of a classic session; a client of Spark Connect has none to ask."""
    if jvm is None:
        raise LookupError
    return jvm


def _java(jvm: Any) -> str:
    system = jvm.java.lang.System
    return f"{system.getProperty('java.version')}, {system.getProperty('java.vendor')}"


def _loaded_from(jvm: Any) -> str:
    if not can_load(jvm, EXTENSION_CLASS):
        return f"nowhere: the driver has no class {EXTENSION_CLASS}"
    source = _extension(jvm).getProtectionDomain().getCodeSource()
    return PurePath(source.getLocation().getPath()).name


def _checked(spark: SparkSession) -> str:
    try:
        check(spark)
    except RangeJoinError as error:
        return str(error)
    return "range joins are active"


def _listed(entries: Sequence[str] | None) -> str:
    if entries is None:
        return NOT_KNOWN
    return "".join(f"\n  {entry}" for entry in entries) or "none"


def _settings(spark: SparkSession) -> dict[str, str] | None:
    """What is set in the session, or was when it began; None where Spark does not tell."""
    try:
        given = {str(row[0]): str(row[1]) for row in spark.sql("SET").collect()}
    except Exception:
        return None
    return given | {EXTENSIONS_CONF: given.get(EXTENSIONS_CONF, "")}
