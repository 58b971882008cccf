"""How a text is taken apart into statements."""

from __future__ import annotations

import pytest

from rangejoin.statements import split_statements


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;\n\nSELECT 2 ; ", ["SELECT 1", "SELECT 2"]),
        (";; ;", []),
        ("", []),
        ("SELECT ';' ; SELECT 2", ["SELECT ';'", "SELECT 2"]),
        ('SELECT ";" ; SELECT 2', ['SELECT ";"', "SELECT 2"]),
        ("SELECT `a;b` ; SELECT 2", ["SELECT `a;b`", "SELECT 2"]),
        (r"SELECT 'it\'s;' ; SELECT 2", [r"SELECT 'it\'s;'", "SELECT 2"]),
        ("SELECT 'it''s;' ; SELECT 2", ["SELECT 'it''s;'", "SELECT 2"]),
        ("SELECT '--;' ; SELECT 2", ["SELECT '--;'", "SELECT 2"]),
        ("-- it's; one\nSELECT 1; -- two;", ["-- it's; one\nSELECT 1"]),
        ("/* a; /* b; */ c; */ SELECT 1; /* d */", ["/* a; /* b; */ c; */ SELECT 1"]),
        ("SELECT /*+ MERGE(r) */ 1; SELECT 2", ["SELECT /*+ MERGE(r) */ 1", "SELECT 2"]),
        ("SELECT 4/2; SELECT 4 - -2", ["SELECT 4/2", "SELECT 4 - -2"]),
        ("SELECT 1 /* to the end", ["SELECT 1 /* to the end"]),
        ("SELECT 'to the end; SELECT 2", ["SELECT 'to the end", "SELECT 2"]),
    ],
)
def test_statements_end_where_spark_sql_ends_them(text: str, statements: list[str]) -> None:
    assert split_statements(text) == statements
