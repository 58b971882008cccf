"""The notes of a release: the part of CHANGELOG.md about the version in VERSION.

    python3 .ci/release_notes.py

Links into the repository lead to the tag, and a paragraph is one line, since GitHub breaks lines
where the text does.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOB = "https://github.com/spark-range-join/spark-range-join/blob"


def notes(changes: str, version: str) -> str:
    """The part of `changes` below the heading of `version`; empty where there is none."""
    parts = re.split(r"^## (\S+?),.*\n", changes, flags=re.MULTILINE)
    ours = dict(zip(parts[1::2], parts[2::2], strict=True)).get(version, "").strip()
    ours = re.sub(r"\n +(?=\S)", " ", ours)
    return re.sub(r"\]\(([^:)]+)\)", rf"]({BLOB}/v{version}/\1)", ours)


if __name__ == "__main__":
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if not text:
        sys.exit(f"CHANGELOG.md has nothing about {version}")
    print(text)
