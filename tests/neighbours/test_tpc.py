"""Keyed range queries on the tables of TPC-H and TPC-DS, at a hundredth of their smallest scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import duckdb_ext
import pytest
from pyspark.sql import DataFrame, SparkSession

import rangejoin

Rows = Counter[tuple[object, ...]]

TPC_H = {
    "orders of a customer within a month of each other": """
        SELECT a.o_orderkey, b.o_orderkey FROM orders a JOIN orders b
          ON a.o_custkey = b.o_custkey AND a.o_orderkey <> b.o_orderkey
         AND b.o_orderdate BETWEEN a.o_orderdate AND date_add(a.o_orderdate, 30)
        """,
    "customers who did not order for a year after an order": """
        SELECT a.o_orderkey FROM orders a WHERE NOT EXISTS (
          SELECT * FROM orders b WHERE a.o_custkey = b.o_custkey
             AND b.o_orderdate > a.o_orderdate
             AND b.o_orderdate <= add_months(a.o_orderdate, 12))
        """,
    "suppliers who could sell a part for less": """
        SELECT l_orderkey, l_linenumber, ps_suppkey FROM lineitem JOIN partsupp
          ON l_partkey = ps_partkey
         AND ps_supplycost BETWEEN 100 AND l_extendedprice / l_quantity * 0.2
        """,
    "shipments of a part within the travel of another": """
        SELECT a.l_partkey, count(*), max(b.l_shipdate) FROM lineitem a JOIN lineitem b
          ON a.l_partkey = b.l_partkey AND a.l_orderkey < b.l_orderkey
         AND b.l_shipdate BETWEEN a.l_shipdate AND a.l_receiptdate
        GROUP BY a.l_partkey
        """,
}

TPC_DS = {
    "query 72": """
        SELECT i_item_desc, w_warehouse_name, d1.d_week_seq,
               sum(CASE WHEN p_promo_sk IS NULL THEN 1 ELSE 0 END) AS no_promo,
               sum(CASE WHEN p_promo_sk IS NOT NULL THEN 1 ELSE 0 END) AS promo,
               count(*) AS total_cnt
        FROM catalog_sales
        JOIN inventory ON cs_item_sk = inv_item_sk
        JOIN warehouse ON w_warehouse_sk = inv_warehouse_sk
        JOIN item ON i_item_sk = cs_item_sk
        JOIN customer_demographics ON cs_bill_cdemo_sk = cd_demo_sk
        JOIN household_demographics ON cs_bill_hdemo_sk = hd_demo_sk
        JOIN date_dim d1 ON cs_sold_date_sk = d1.d_date_sk
        JOIN date_dim d2 ON inv_date_sk = d2.d_date_sk
        JOIN date_dim d3 ON cs_ship_date_sk = d3.d_date_sk
        LEFT OUTER JOIN promotion ON cs_promo_sk = p_promo_sk
        LEFT OUTER JOIN catalog_returns
          ON cr_item_sk = cs_item_sk AND cr_order_number = cs_order_number
        WHERE d1.d_week_seq = d2.d_week_seq AND inv_quantity_on_hand < cs_quantity
          AND d3.d_date > d1.d_date + INTERVAL 5 DAYS AND d1.d_year IN (1999, 2000)
        GROUP BY i_item_desc, w_warehouse_name, d1.d_week_seq
        """,
    "returns within two months of a sale": """
        SELECT ss_ticket_number, ss_item_sk, sr_returned_date_sk FROM store_sales
        LEFT JOIN store_returns
          ON ss_item_sk = sr_item_sk AND ss_customer_sk = sr_customer_sk
         AND sr_returned_date_sk BETWEEN ss_sold_date_sk AND ss_sold_date_sk + 60
        """,
    "stock in the week before a sale from the catalogue": """
        SELECT cs_order_number, cs_item_sk, max(inv_quantity_on_hand) FROM catalog_sales
        JOIN inventory ON cs_item_sk = inv_item_sk AND cs_warehouse_sk = inv_warehouse_sk
         AND inv_date_sk > cs_sold_date_sk - 7 AND inv_date_sk <= cs_sold_date_sk
        GROUP BY cs_order_number, cs_item_sk
        """,
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that sees the tables of both."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("rangejoin on TPC tables")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    )
    session = rangejoin.configure(builder).getOrCreate()
    folder = tmp_path_factory.mktemp("tpc")
    # TPC-DS last: both have a table `customer`, which no query reads.
    for name in ("tpch", "tpcds"):
        for path in generate(name, folder / name):
            session.read.parquet(str(path)).createOrReplaceTempView(path.stem)
    yield session
    session.stop()


def generate(name: str, folder: Path) -> list[Path]:
    """Writes the tables of `tpch` or `tpcds` into a new folder; returns their files."""
    folder.mkdir()
    (extension,) = (
        found
        for root in duckdb_ext.__path__
        for found in Path(root).rglob(f"{name}.duckdb_extension")
    )
    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{extension}'")
        generator = {"tpch": "dbgen", "tpcds": "dsdgen"}[name]
        connection.execute(f"CALL {generator}(sf=0.01)")
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        for (table,) in tables:
            connection.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")
    return sorted(folder.glob("*.parquet"))


def rows(df: DataFrame) -> Rows:
    return Counter(tuple(row) for row in df.collect())


@pytest.mark.parametrize("text", [*TPC_H.values(), *TPC_DS.values()], ids=[*TPC_H, *TPC_DS])
def test_rows_are_those_of_stock_spark(spark: SparkSession, text: str) -> None:
    ranged = spark.sql(text)
    found = rows(ranged)
    measured = rangejoin.metrics(ranged)
    spark.conf.set(rangejoin.ENABLED_CONF, "false")
    try:
        stock = spark.sql(text)
        assert found == rows(stock)
        assert rangejoin.metrics(stock) == []
    finally:
        spark.conf.unset(rangejoin.ENABLED_CONF)
    assert found.total() > 10
    assert measured
    assert all(m["numOutputRows"] > 0 for m in measured)
