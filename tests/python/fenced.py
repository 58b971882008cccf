"""The code blocks of a page of the documentation, and the shell commands in them."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_MARKER = re.compile(r"<!-- not run: (.+) -->")


class Block(NamedTuple):
    """A fenced block; `reason` says why it is not run, where a marker stands above it."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None
    follows: bool  # nothing but blank lines since the block before it

    def __str__(self) -> str:
        """Where it is."""
        return f"{self.page}:{self.line}"


def blocks(path: Path, name: str) -> Iterator[Block]:
    """Yields the fenced blocks of a page, in order.

    A block is not run where the line above it is `<!-- not run: some reason -->`.
    """
    lines = iter(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))
    follows, above = False, ""
    for number, line in lines:
        if line.lstrip().startswith("```"):
            text = []
            for _, inner in lines:
                if inner.lstrip().startswith("```"):
                    break
                text.append(inner)
            marker = _MARKER.fullmatch(above.strip())
            reason = marker[1] if marker else None
            language, body = line.strip(" `"), textwrap.dedent("\n".join(text))
            yield Block(name, number, language, body, reason, follows)
            follows = True
        elif line.strip():
            follows = False
        above = line


def commands(text: str) -> list[list[str]]:
    """The words of each command of a shell block; lines that end in a backslash are joined."""
    joined = text.replace("\\\n", " ").splitlines()
    split = (shlex.split(line, comments=True) for line in joined)
    return [words for words in split if words]
