"""`rangejoin explain`: the joins of statements given as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from rangejoin.errors import RangeJoinError
from rangejoin.explained import explain
from rangejoin.session import session_with

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def explain_statements(text: str, settings: Sequence[str], run: bool, sample: bool) -> None:
    """Prints the explanation of each statement that has joins, and of each query.

    Args:
        text: statements, with `;` between them.
        settings: `KEY=VALUE`, of the session.
        run: whether to run queries before they are explained.
        sample: as `rangejoin.explain` has it.

    Raises:
        RangeJoinError: a setting has no `=`; or Spark refuses a statement.
    """
    spark = session_with(settings)
    for statement in split_statements(text):
        _explain_one(spark, statement, run, sample)


# A comment in brackets is found by its beginning alone: it may have others inside.
_TOKEN = re.compile(
    r"""(?P<quoted>'(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | `[^`]*`)
    | (?P<comment>--[^\n]*) | (?P<bracket>/\*) | (?P<end>;) | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_BRACKET = re.compile(r"/\*|\*/")


def split_statements(text: str) -> list[str]:
    """The statements of a text with `;` between them, as `spark-sql` tells them apart.

    A `;` in quotes or in a comment ends nothing; of comments alone there is no statement. A hint
    is part of its statement.
    """
    statements = []
    begin = position = 0
    is_statement = False
    while position < len(text):
        token = _TOKEN.match(text, position)
        assert token is not None, "every character is a token"
        position = token.end()
        if token["bracket"]:
            position = _end_of_bracket(text, position)
        elif token["end"]:
            if is_statement:
                statements.append(text[begin : token.start()].strip())
            begin, is_statement = position, False
        elif not token["comment"]:
            is_statement = is_statement or not token[0].isspace()
    if is_statement:
        statements.append(text[begin:].strip())
    return statements


def _end_of_bracket(text: str, position: int) -> int:
    depth = 1
    while depth:
        mark = _BRACKET.search(text, position)
        if mark is None:
            return len(text)
        depth += 1 if mark[0] == "/*" else -1
        position = mark.end()
    return position


def _explain_one(spark: SparkSession, statement: str, run: bool, sample: bool) -> None:
    try:
        df = spark.sql(statement)
        query: Any = vars(df)["_jdf"].queryExecution()
        is_command = "CommandResult" in query.executedPlan().nodeName()
        if run and not is_command:
            _run(df)
        explanation = explain(df, sample=sample)
    except (PySparkException, Py4JError) as error:
        raise RangeJoinError(f"{error}\nin the statement\n{statement}") from error
    if explanation.joins or not is_command:
        print(f"{' '.join(statement.split())[:100]}\n\n{explanation}\n")


def _run(df: DataFrame) -> None:
    """Runs the very plan of `df`, and keeps none of its rows."""
    query: Any = vars(df)["_jdf"].queryExecution()
    query.toRdd().count()
