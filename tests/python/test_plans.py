"""Joins with a range are planned as range joins and return what stock Spark returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rangejoin import ENABLED_CONF
from rangejoin.demo.contest import executed_plan, join_operator

CONDITIONS = {
    "between": "r.y BETWEEN l.y - 2 AND l.y + 2",
    "abs": "abs(l.y - r.y) <= 2",
    "strict and inclusive": "l.y - 2 < r.y AND r.y <= l.y + 2",
    "band by columns": "r.y BETWEEN l.y - l.below AND l.y + l.above",
    "bigint": "CAST(r.y AS BIGINT) BETWEEN CAST(l.y AS BIGINT) - 2 AND CAST(l.y AS BIGINT) + 2",
    "date": "r.d BETWEEN date_sub(l.d, 2) AND date_add(l.d, 2)",
    "timestamp": "r.t BETWEEN l.t - INTERVAL 2 HOURS AND l.t + INTERVAL 2 HOURS",
    "residual": "r.y BETWEEN l.y - 2 AND l.y + 2 AND (l.id + r.id) % 3 = 0",
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Two tables of 80 rows: 4 keys, ties, and a NULL key or value in every eleventh row."""

    def table(factor: int) -> DataFrame:
        y = (F.col("id") * factor % 23).cast("int")
        return spark.range(80).select(
            "id",
            F.when(F.col("id") % 11 != 3, F.col("id") % 4).alias("k"),
            F.when(F.col("id") % 11 != 5, y).alias("y"),
            (F.col("id") % 3).cast("int").alias("below"),
            (F.col("id") % 2).cast("int").alias("above"),
            F.expr(f"date_add(DATE'2024-02-20', CAST(id * {factor} % 23 AS INT))").alias("d"),
            F.expr(f"timestamp_seconds(1710000000 + id * {factor} % 23 * 3600)").alias("t"),
        )

    left, right = table(7).cache(), table(5).cache()
    left.createOrReplaceTempView("l")
    right.createOrReplaceTempView("r")
    return left, right


@pytest.fixture(params=["true", "false"], ids=["aqe", "no aqe"])
def adaptive(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    yield from setting(spark, "spark.sql.adaptive.enabled", request.param)


@pytest.fixture(params=["true", "false"], ids=["codegen", "interpreted"])
def codegen(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    yield from setting(spark, "spark.sql.codegen.wholeStage", request.param)


def setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    """Holds a session setting while a test runs."""
    spark.conf.set(key, value)
    yield
    spark.conf.unset(key)


def run(spark: SparkSession, query: DataFrame) -> tuple[str, Counter[tuple[object, ...]]]:
    """Runs `query` and returns its join operator and its rows."""
    rows = Counter(tuple(row) for row in query.collect())
    return join_operator(executed_plan(query)), rows


def flag_off(spark: SparkSession) -> Iterator[None]:
    return setting(spark, ENABLED_CONF, "false")


def both_ways(spark: SparkSession, text: str) -> int:
    """Compares a SQL query with itself with the flag off; returns the number of rows."""
    operator, rows = run(spark, spark.sql(text))
    assert operator == "SortMergeRangeJoin"
    for _ in flag_off(spark):
        assert run(spark, spark.sql(text)) == ("SortMergeJoin", rows)
    return rows.total()


@pytest.mark.usefixtures("tables", "adaptive", "codegen")
@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS.keys())
def test_sql_returns_the_rows_of_the_stock_join(spark: SparkSession, condition: str) -> None:
    rows = both_ways(spark, f"SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND {condition}")
    assert rows > 0


@pytest.mark.usefixtures("adaptive", "codegen")
def test_the_data_frame_api_returns_the_rows_of_the_stock_join(
    spark: SparkSession, tables: tuple[DataFrame, DataFrame]
) -> None:
    left, right = tables

    def query() -> DataFrame:
        band = right.y.between(left.y - 2, left.y + 2)
        return left.join(right, (left.k == right.k) & band).select(left.id, right.id)

    operator, rows = run(spark, query())
    assert operator == "SortMergeRangeJoin"
    for _ in flag_off(spark):
        assert run(spark, query()) == ("SortMergeJoin", rows)


JOIN_TYPES = ("inner", "left", "right", "full", "semi", "anti")


@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("how", JOIN_TYPES)
@pytest.mark.parametrize(
    "columns",
    [
        "id, y",
        pytest.param("d", marks=pytest.mark.slow),
        pytest.param("t", marks=pytest.mark.slow),
    ],
)
def test_every_join_type_returns_the_rows_of_the_stock_join(
    spark: SparkSession, tables: tuple[DataFrame, DataFrame], how: str, columns: str
) -> None:
    left, right = tables

    def query() -> DataFrame:
        if columns == "d":
            band = right.d.between(left.d, F.date_add(left.d, 2))
        elif columns == "t":
            band = right.t >= left.t
        else:
            band = (F.abs(left.y - right.y) <= 1) & (left.id != right.id)
        return left.join(right, (left.k == right.k) & band, how)

    operator, rows = run(spark, query())
    assert operator == "SortMergeRangeJoin"
    for _ in flag_off(spark):
        assert run(spark, query()) == ("SortMergeJoin", rows)


@pytest.mark.usefixtures("tables", "adaptive", "codegen")
def test_exists_or_something_else_returns_the_rows_of_the_stock_join(spark: SparkSession) -> None:
    exists = "EXISTS (SELECT * FROM r WHERE l.k = r.k AND r.y BETWEEN l.y - 1 AND l.y)"
    assert both_ways(spark, f"SELECT id FROM l WHERE id % 10 = 0 OR {exists}") > 0


@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("kind", ["residual", "bound", "both"])
def test_python_udfs_work_in_the_residual_and_in_a_bound(
    spark: SparkSession, tables: tuple[DataFrame, DataFrame], kind: str
) -> None:
    left, right = tables
    even = F.udf(lambda a, b: (a + b) % 2 == 0, "boolean", useArrow=False)
    reach = F.udf(lambda y: None if y is None else y % 3, "int", useArrow=False)

    def query() -> DataFrame:
        end = left.y + (F.lit(2) if kind == "residual" else reach(left.y))
        on = (left.k == right.k) & right.y.between(left.y - 1, end)
        if kind != "bound":
            on = on & even(left.id, right.id)
        return left.join(right, on).select(left.id, right.id)

    operator, rows = run(spark, query())
    assert operator == "SortMergeRangeJoin"
    assert rows.total() > 0
    for _ in flag_off(spark):
        assert run(spark, query()) == ("SortMergeJoin", rows)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("columns", ["r.id, r.id", "l.id, l.id", "l.id, r.id"])
def test_python_udfs_work_in_correlated_subqueries(spark: SparkSession, columns: str) -> None:
    suits = F.udf(lambda a, b: (a + b) % 3 != 0, "boolean", useArrow=False)
    spark.udf.register("suits", suits)
    latest = f"SELECT max(r.y) FROM r WHERE r.k = l.k AND r.y <= l.y AND suits({columns})"
    query = f"SELECT l.id, ({latest}) AS latest FROM l"
    rows = Counter(tuple(row) for row in spark.sql(query).collect())
    assert len({latest for _, latest in rows}) > 9
    for _ in flag_off(spark):
        assert Counter(tuple(row) for row in spark.sql(query).collect()) == rows


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("how", ["scalar", "LEFT JOIN", "INNER JOIN"])
def test_python_udfs_are_not_called_for_rows_without_a_match(spark: SparkSession, how: str) -> None:
    if spark.version.startswith("3."):
        pytest.skip("Spark 3.5 allows no LIMIT in a subquery that is correlated by a range")
    # Fails for a NULL.
    spark.udf.register("one_more", F.udf(lambda a: a + 1, "long", useArrow=False))
    of = "FROM r WHERE r.k = l.k AND r.y <= l.y - 9 ORDER BY r.y DESC, r.id LIMIT 1"
    last = f"SELECT one_more(r.id) AS o {of}"
    query = (
        f"SELECT l.id, ({last}) AS o FROM l"
        if how == "scalar"
        else f"SELECT l.id, x.o FROM l {how} LATERAL ({last}) AS x"
    )
    rows = Counter(tuple(row) for row in spark.sql(query).collect())
    assert any(o is None for _, o in rows) == (how != "INNER JOIN")
    for _ in flag_off(spark):
        assert Counter(tuple(row) for row in spark.sql(query).collect()) == rows


@pytest.mark.usefixtures("tables")
def test_a_lateral_subquery_takes_the_first_rows_of_a_key_that_is_cast(spark: SparkSession) -> None:
    # Stock Spark 4.2.0 takes those of all keys, and compares the key afterwards.
    if spark.version.startswith("3."):
        pytest.skip("Spark 3.5 allows no LIMIT in a subquery that is correlated by a range")
    found = spark.sql(
        "SELECT l.id, x.y FROM (SELECT id, int(k) AS k, y FROM l) AS l LEFT JOIN LATERAL "
        "(SELECT r.y FROM r WHERE r.k = l.k AND r.y <= l.y ORDER BY r.y DESC LIMIT 1) AS x"
    )
    left, right = (
        [(row.id, row.k, row.y) for row in spark.table(name).collect()] for name in ("l", "r")
    )

    def latest(k: int | None, y: int | None) -> int | None:
        near = [b for _, c, b in right if None not in (k, y, b) and c == k and b <= y]
        return max(near, default=None)

    assert dict(map(tuple, found.collect())) == {i: latest(k, y) for i, k, y in left}


@pytest.mark.usefixtures("tables", "adaptive")
def test_rows_small_enough_to_check_by_eye(spark: SparkSession) -> None:
    query = spark.sql(
        """
        SELECT l.y, r.y FROM VALUES (1, 10), (1, 20), (2, 10), (NULL, 10), (1, NULL) AS l(k, y)
        JOIN VALUES (1, 9), (1, 11), (1, 12), (1, 20), (2, 30), (NULL, 10) AS r(k, y)
          ON l.k = r.k AND r.y BETWEEN l.y - 1 AND l.y + 1
        """
    )
    operator, rows = run(spark, query)
    assert operator == "SortMergeRangeJoin"
    assert rows == Counter([(10, 9), (10, 11), (20, 20)])


@pytest.mark.usefixtures("tables")
def test_the_flag_may_be_switched_at_any_time(spark: SparkSession) -> None:
    query = f"SELECT * FROM l JOIN r ON l.k = r.k AND {CONDITIONS['between']}"
    operators = []
    for value in ("true", "false", "true"):
        for _ in setting(spark, ENABLED_CONF, value):
            operators.append(join_operator(executed_plan(spark.sql(query))))
    assert operators == ["SortMergeRangeJoin", "SortMergeJoin", "SortMergeRangeJoin"]


@pytest.mark.usefixtures("tables")
def test_a_bad_value_of_the_flag_is_refused_by_name(spark: SparkSession) -> None:
    with pytest.raises(Exception, match=ENABLED_CONF.replace(".", r"\.")):
        spark.conf.set(ENABLED_CONF, "perhaps")
