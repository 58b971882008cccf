"""`rangejoin explain`: the joins of statements given as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rangejoin.errors import RangeJoinError
from rangejoin.explained import explain
from rangejoin.session import configure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
    builder: Any = SparkSession.builder
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise RangeJoinError(f"--conf {setting}: write KEY=VALUE")
        builder = builder.config(key, value)
    spark = configure(builder).getOrCreate()
    jvm: Any = vars(spark)["_jvm"]
    utils = jvm.org.apache.spark.sql.catalyst.util.StringUtils
    for statement in utils.splitSemiColonWithIndex(text, False).mkString("\0").split("\0"):
        if statement.strip():
            _explain_one(spark, statement.strip(), run, sample)


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
