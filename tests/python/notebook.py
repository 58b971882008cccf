"""The notebook of a page, and its picture: `python tests/python/notebook.py docs/features.md`.

The notebook beside the page has its text and its Python, without what that prints. The picture is
the `figure` that is left when the page has run.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

_PYTHON = re.compile(
    r"^```python\n(.*?)\n```\n(?:\n```text\n.*?\n```\n)?", re.DOTALL | re.MULTILINE
)
SESSION = """import rangejoin
from pyspark.sql import SparkSession

spark = rangejoin.configure(SparkSession.builder).getOrCreate()"""


def notebook(page: str) -> str:
    """A page as a notebook, which begins with a session."""
    parts = _PYTHON.split(page)
    # Code stands between texts; the session goes below the title.
    title, _, first = parts[0].partition("\n")
    cells = [_cell("markdown", title), _cell("code", SESSION), _cell("markdown", first.strip())]
    for i, part in enumerate(parts[1:]):
        if part.strip():
            cells.append(_cell("markdown" if i % 2 else "code", part.strip()))
    numbered = [{"id": f"cell-{i}", **cell} for i, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": numbered,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text.splitlines(True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def main(path: Path) -> None:
    """Writes both."""
    page = path.read_text(encoding="utf-8")
    path.with_suffix(".ipynb").write_text(notebook(page), encoding="utf-8")
    names: dict[str, Any] = {}
    for code in (SESSION, *_PYTHON.findall(page)):
        exec(compile(code, str(path), "exec"), names)
    names["figure"].savefig(path.with_suffix(".svg"), metadata={"Date": None})
    names["spark"].stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
