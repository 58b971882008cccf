"""Every code block of the documentation runs, and prints what the page says it prints.

A page is read from top to bottom in one session, which is that of "Getting started":

    python, sql    run; a `text` block right below is what they print
    sh             each command is checked for what can be known of it: targets, files, options;
                   `spark-submit` and `rangejoin` are run
    properties     names of settings
    text           what the block above prints

A block that cannot be run says why in the line above it: `<!-- not run: reason -->`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY
from fenced import Block, blocks, commands
from launching import JOB, SUBMIT, assert_active, launch
from lines import EXPLAINS
from notebook import notebook
from pyspark.sql import SparkSession

import rangejoin
from rangejoin.cli import main
from rangejoin.names import SPARK_LINES

PAGES = sorted(
    str(path.relative_to(REPOSITORY))
    for pattern in ("*.md", "docs/*.md", "python/README.md", "bench/README.md")
    for path in REPOSITORY.glob(pattern)
)
# Run with that software, by tests/neighbours.
OF_NEIGHBOURS = ["docs/delta.md", "docs/iceberg.md"]
NOTEBOOK = "docs/demo/range-joins.ipynb"
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
PROJECT = metadata("spark-range-join")

submitted: list[list[str]] = []

# How many blocks of a page are not run. One more is a decision: raise the number here.
NOT_RUN = {
    "README.md": 1,
    "docs/comet.md": 1,
    "docs/getting-started.md": 2,
    "docs/how-it-works.md": 1,
    "RELEASE.md": 4,
}


@pytest.fixture
def page_session(spark: SparkSession) -> Iterator[SparkSession]:
    """The shared session, with Spark's own broadcast threshold; put back afterwards."""
    before = settings(spark)
    spark.conf.unset(THRESHOLD)
    yield spark
    now = settings(spark)
    for key in now.keys() - before.keys():
        spark.conf.unset(key)
    for key, value in before.items():
        if now.get(key) != value:
            spark.conf.set(key, value)
    for table in spark.catalog.listTables():
        if table.isTemporary:
            spark.catalog.dropTempView(table.name)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in OF_NEIGHBOURS])
def test_the_code_blocks_of_a_page_run(
    page_session: SparkSession, page: str, tmp_path: Path
) -> None:
    run_page(page, page_session, tmp_path)


def run_page(page: str, page_session: SparkSession, tmp_path: Path) -> None:
    """Runs the blocks of a page, from top to bottom."""
    names: dict[str, Any] = {"spark": page_session, "rangejoin": rangejoin, "__name__": "page"}
    printed: str | None = None
    for block in blocks(REPOSITORY / page, page):
        if block.reason is not None:
            printed = None
        elif block.language == "python":
            printed = run_python(block, names)
        elif block.language == "sql":
            printed = run_sql(block, page_session)
        elif block.language == "sh":
            printed = None
            for words in commands(block.text):
                check_command(words, tmp_path)
        elif block.language == "properties":
            printed = None
            check_properties(block)
        elif block.language == "text":
            assert block.follows, f"{block}: what prints this?"
            assert printed is not None, f"{block}: the block above prints nothing that is checked"
            text = block.text if EXPLAINS else block.text.split("== Extended Information")[0]
            assert plain(printed) == plain(text), f"{block}: it should be\n{printed}"
        else:
            pytest.fail(f"{block}: no way to run {block.language or 'a block without a language'}")


def test_blocks_that_are_not_run_are_counted() -> None:
    found: dict[str, int] = {}
    for page in PAGES:
        for block in blocks(REPOSITORY / page, page):
            if block.reason is not None:
                found[page] = found.get(page, 0) + 1
    assert found == NOT_RUN


def test_a_notebook_is_what_its_page_says() -> None:
    for path in REPOSITORY.glob("docs/*.ipynb"):
        page = path.with_suffix(".md").read_text(encoding="utf-8")
        assert path.read_text(encoding="utf-8") == notebook(page), (
            f"run .venv/bin/python tests/python/notebook.py docs/{path.stem}.md"
        )


def test_the_readme_is_short() -> None:
    words = len((REPOSITORY / "README.md").read_text(encoding="utf-8").split())
    assert words <= 1200


def settings(spark: SparkSession) -> dict[str, str]:
    """The settings of a session."""
    return {row.key: row.value for row in spark.sql("SET").collect()}


def run_python(block: Block, names: dict[str, Any]) -> str:
    """Runs the block in the namespace of its page; returns what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block.text, str(block), "exec"), names)
    return out.getvalue()


def run_sql(block: Block, spark: SparkSession) -> str:
    """Runs a statement; returns its rows as `show` prints them."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        spark.sql(block.text).show()
    return out.getvalue()


def plain(text: str) -> str:
    """What is the same in every run of a query and on every machine."""
    text = re.sub(r"#\d+L?", "#", text)
    text = re.sub(r"plan_id=\d+", "plan_id", text)
    text = re.sub(r"(hashpartitioning\([^)]*), \d+\)", r"\1, N)", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def check_command(words: list[str], folder: Path) -> None:
    """Fails where a shell command names something that is not there; runs it where it can be."""
    program = words[0]
    if program == "make":
        check_make(words[1:])
    elif program == "pip":
        check_pip(words)
    elif program == "sbt":
        check_sbt(words[1:])
    elif program == "rangejoin":
        arguments = words[1:] if words[1:] == ["jar"] else [*words[1:], "--help"]
        with contextlib.suppress(SystemExit):
            assert main(arguments) == 0
    elif program == "spark-submit":
        given = [w.replace("$(rangejoin jar)", rangejoin.jar_path()) for w in words[1:]]
        assert given[-1] == "job.py"
        # The same command on several pages is run once.
        if given in submitted:
            return
        submitted.append(given)
        shutil.copy(JOB, folder / "job.py")
        (report,), _ = launch(folder, SUBMIT, *given)
        assert_active(report)
    elif program == ".venv/bin/python":
        check_script(words[1:])
    else:
        pytest.fail(f"no way to check: {' '.join(words)}")


def check_make(words: list[str]) -> None:
    """Targets are rules, and what is given a value has one already."""
    for word in words:
        name, equals, _ = word.partition("=")
        if equals:
            assert re.search(rf"^{name}\s*[?:]?=", MAKEFILE, re.MULTILINE), f"no variable {name}"
        else:
            assert re.search(rf"^{name}:", MAKEFILE, re.MULTILINE), f"no target {name}"


def check_pip(words: list[str]) -> None:
    """What is installed is the wheel or the project, with extras that it has."""
    assert words[1] == "install"
    for word in (w for w in words[2:] if not w.startswith("-")):
        what, _, extras = word.removesuffix("]").partition("[")
        assert what in ("./python", "python/dist/spark_range_join-*.whl", PROJECT["Name"]), word
        assert set(extras.split(",")) - {""} <= set(PROJECT.get_all("Provides-Extra") or [])


def check_sbt(words: list[str]) -> None:
    """A suite that is named exists."""
    for word in words:
        task, _, suite = word.partition(" ")
        if task.endswith("testOnly"):
            name = suite.split(" ")[0].removeprefix("*")
            sources = [*REPOSITORY.glob("tests/src/test/**/*.scala")]
            assert any(re.search(rf"class {name}\b", s.read_text()) for s in sources), suite


def check_script(words: list[str]) -> None:
    """A script exists and has the options."""
    if words[0] == "-m":
        assert words[1] == "pytest"
        assert all((REPOSITORY / w).exists() for w in words[2:] if w.startswith("tests/"))
        return
    script = REPOSITORY / words[0]
    assert script.exists()
    options = {word for word in words[1:] if word.startswith("--")}
    if options:
        shown = subprocess.run(
            [sys.executable, str(script), "--help"],
            env={**os.environ, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert options <= set(re.findall(r"--[a-z-]+", shown.stdout)), words


def check_properties(block: Block) -> None:
    """Settings have the names that this project reads and writes."""
    names = [line.split()[0] for line in block.text.splitlines() if line.strip()]
    assert set(names) <= {"spark.jars", "spark.sql.extensions"}
    assert rangejoin.EXTENSION_CLASS in block.text


def test_the_cells_of_the_notebook_run(
    page_session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((REPOSITORY / NOTEBOOK).read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {"__name__": "notebook"}
    printed = [
        run_python(Block(NOTEBOOK, number, "python", "".join(cell["source"]), None, False), names)
        for number, cell in enumerate(cells, 1)
    ]
    assert "SortMergeRangeJoin" in printed[2]
    assert re.search(r"[1-9][\d,]+ rows: stock Spark", printed[3])
    assert "pairs looked at" in printed[4]
    assert "wind_speed" in printed[5]
    assert not any(cell["outputs"] for cell in cells), "committed without outputs"


def test_what_workflows_run_is_there() -> None:
    script = REPOSITORY / ".ci/targets.py"
    shown = subprocess.run(
        [sys.executable, str(script), "17"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    lists = dict(line.split("=", 1) for line in shown.splitlines())
    assert lists.keys() == {"short", "weekly"}
    for targets in lists.values():
        for target in json.loads(targets):
            check_make(target.split())
        for line in SPARK_LINES:
            assert line == "4.2" or any(f"LINE={line}" in t for t in json.loads(targets)), line


def test_the_notes_of_a_release_are_its_part_of_the_changes() -> None:
    script = REPOSITORY / ".ci/release_notes.py"
    text = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.count("\n- ") <= changes.count("\n- ")
    assert text.startswith("### ")
    assert "\n## " not in text
    for link in re.findall(r"\]\(([^)]*)\)", text):
        assert link.startswith("https://"), link


def test_the_site_builds_without_a_warning() -> None:
    done = subprocess.run(
        ["make", "docs"], cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for page in ("docs/getting-started", "design/02-modules", "CHANGELOG"):
        assert (REPOSITORY / "target/docs" / page / "index.html").exists()
