"""The `rangejoin` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rangejoin.errors import RangeJoinError
from rangejoin.packaged import jar_path


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: words after the program's name; those of the process by default.

    Returns:
        The exit status: 0, or 1 after an error of this package, told on standard error.
    """
    options = _parser().parse_args(arguments)
    try:
        if options.command == "jar":
            print(jar_path(options.spark, options.scala))
        elif options.command == "check":
            _check(options)
        elif options.command == "explain":
            _explain(options)
        else:
            _demo(options)
    except RangeJoinError as error:
        print(f"rangejoin: {error}", file=sys.stderr)
        return 1
    return 0


def _demo(options: argparse.Namespace) -> None:
    from rangejoin.demo import FULL, SHORT, run_demo

    hours = tuple(options.hours) if options.hours else None
    given = {"hours": hours, "runs": options.runs, "limit": options.limit}
    extent = replace(
        FULL if options.full else SHORT,
        **{name: value for name, value in given.items() if value is not None},
    )
    run_demo(extent, options.output_dir, options.bounds)


def _explain(options: argparse.Namespace) -> None:
    from rangejoin.statements import explain_statements

    explain_statements(_text(options.sql), options.conf, options.run, options.sample)


def _check(options: argparse.Namespace) -> None:
    from rangejoin.health import check
    from rangejoin.reported import report, report_without_session
    from rangejoin.session import session_with

    try:
        spark = session_with(options.conf)
    except Exception as error:
        if options.report:
            print(report_without_session(error))
        raise RangeJoinError(f"Spark did not start: {error}") from error
    if options.report:
        print(report(spark))
    check(spark)
    if not options.report:
        print("range joins are active")


def _text(sql: str) -> str:
    """The text of a file, of standard input, or the words themselves."""
    if sql == "-":
        return sys.stdin.read()
    # Not an error for words that are longer than a path can be.
    return Path(sql).read_text(encoding="utf-8") if os.path.isfile(sql) else sql


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rangejoin", description="Range joins for Spark.")
    commands = parser.add_subparsers(dest="command", required=True)
    jar = commands.add_parser("jar", help="print the path of a jar, as for spark-submit --jars")
    jar.add_argument(
        "--spark",
        metavar="VERSION",
        help="the version of Spark, such as 3.5 or 4.0.2 (default: that of the installed PySpark)",
    )
    jar.add_argument(
        "--scala",
        choices=["2.12", "2.13"],
        help="the version of Scala, of which Spark 3.5 comes in two (default: that of its PySpark)",
    )
    check = commands.add_parser(
        "check",
        help="say whether range joins are active in a new session, and if not, what to do",
    )
    check.add_argument(
        "--report",
        action="store_true",
        help="print what to send with the report of a failure: versions, symbols of Spark that are "
        "missing, extensions and settings; no secrets, nothing of the environment",
    )
    _add_conf(check)
    explain = commands.add_parser(
        "explain",
        help="say what the joins of a query are, and why they are no range joins",
        description="Plans the statements of a SQL text in a session of its own, and says of each "
        "join what it is. Queries are not run unless asked for; other statements, such as CREATE "
        "VIEW and SET, are.",
    )
    explain.add_argument("sql", help="a file with SQL, the SQL itself, or - for standard input")
    _add_conf(explain)
    explain.add_argument("--run", action="store_true", help="run queries, and tell what they did")
    explain.add_argument(
        "--sample",
        action="store_true",
        help="estimate the pairs with and without the range from samples of the inputs",
    )
    demo = commands.add_parser(
        "demo",
        help="join real flights with real weather, against stock Spark",
        description="Joins each flight out of New York in 2013 with the weather at its origin "
        "within a band of hours; prints plans, times and ratios; writes a chart. Takes less than "
        "three minutes on two cores.",
    )
    demo.add_argument(
        "--full",
        action="store_true",
        help="three bands, three runs of each join, all stock joins to their end, and a year "
        "without a key: some nine minutes",
    )
    demo.add_argument(
        "--hours",
        type=_positive,
        nargs="+",
        metavar="N",
        help="half widths of the band, in hours (default: 3; with --full 1 3 24)",
    )
    demo.add_argument(
        "--runs",
        type=_positive,
        metavar="N",
        help="runs of each join (default: 1; with --full 3)",
    )
    demo.add_argument(
        "--limit",
        type=_positive,
        metavar="SECONDS",
        help="stop a join of stock Spark after this time (default: 30; with --full never)",
    )
    demo.add_argument(
        "--bounds",
        choices=["inline", "columns"],
        default="columns",
        help="compute the ends of the band in the join condition, or in columns before the join, "
        "which makes stock joins many times faster (default: columns)",
    )
    demo.add_argument(
        "--output-dir",
        type=Path,
        default=Path("demo-output"),
        metavar="DIR",
        help="where data, table and chart go (default: demo-output)",
    )
    return parser


def _add_conf(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the session; may be given several times",
    )


def _positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{word} is not a positive number")
    return number


if __name__ == "__main__":
    sys.exit(main())
