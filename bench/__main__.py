"""All benchmarks by name: `python bench` lists them, `python bench NAME ARGS...` runs one."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def benchmarks() -> dict[str, Path]:
    """The scripts beside this one that can be run; what is only imported has no `__main__`."""
    return {
        path.stem: path
        for path in sorted(FOLDER.glob("*.py"))
        if path.stem != "__main__" and 'if __name__ == "__main__":' in path.read_text()
    }


def first_line(path: Path) -> str:
    """What a script says that it does, without the command that follows."""
    line = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
    return line.partition(": `")[0].rstrip(".")


def listed(of: dict[str, Path]) -> str:
    """A line for each benchmark."""
    width = max(map(len, of))
    return "\n".join(f"  {name:{width}}  {first_line(path)}" for name, path in of.items())


def main() -> None:
    """Lists the benchmarks, or runs the one that is named."""
    found = benchmarks()
    if not sys.argv[1:] or sys.argv[1] in ("-h", "--help"):
        print(f"usage: python bench NAME ARGS...\n\n{listed(found)}")
        return
    name = sys.argv[1]
    if name not in found:
        sys.exit(f"There is no benchmark {name!r}; there are:\n{listed(found)}")
    path = str(found[name])
    sys.path[0] = str(FOLDER)
    sys.argv = [path, *sys.argv[2:]]
    runpy.run_path(path, run_name="__main__")


main()
