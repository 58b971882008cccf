"""Whether the jar fits this Spark: it is compiled against one release and runs in all of a line."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyspark
from class_files import ClassPath, Member, parse

from rangejoin import jar_path

SPARK_JARS = sorted(Path(pyspark.__file__).parent.joinpath("jars").glob("*.jar"))


def named_in(jar: str) -> set[Member]:
    """The members that the classes of a jar name, but those of the JDK."""
    with zipfile.ZipFile(jar) as opened:
        classes = [parse(opened.read(n)) for n in opened.namelist() if n.endswith(".class")]
    members = {member for one in classes for member in one.named}
    return {m for m in members if not m.owner.startswith(("java/", "javax/", "["))}


def test_this_spark_has_every_member_that_the_jar_names() -> None:
    path = ClassPath([Path(jar_path()), *SPARK_JARS])
    named = named_in(jar_path())
    assert sum(m.owner.startswith("org/apache/spark/sql/catalyst") for m in named) > 300
    assert [m for m in named if not path.has(m)] == []


def test_a_member_that_is_not_there_is_found() -> None:
    path = ClassPath(SPARK_JARS)
    context = "org/apache/spark/TaskContextImpl"
    assert path.has(Member(context, "stageId", "()I"))
    assert path.has(Member(context, "getLocalProperty", "(Ljava/lang/String;)Ljava/lang/String;"))
    assert path.has(Member(context, "hashCode", "()I"))
    assert not path.has(Member(context, "stageId", "()J"))
    assert not path.has(Member(context, "<init>", "()V"))
    assert not path.has(Member("org/apache/spark/NoClass", "stageId", "()I"))
