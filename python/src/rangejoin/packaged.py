"""The jar inside the package."""

from pathlib import Path

from rangejoin.errors import RangeJoinError

_JARS = Path(__file__).resolve().parent / "jars"


def jar_path() -> str:
    """Returns the absolute path of the packaged jar, as for `spark-submit --jars`.

    Raises:
        RangeJoinError: the package folder holds no jar, or several.
    """
    return str(_only_jar(_JARS))


def _only_jar(folder: Path) -> Path:
    found = sorted(folder.glob("spark-range-join_*.jar"))
    if len(found) != 1:
        names = ", ".join(jar.name for jar in found) or "none"
        raise RangeJoinError(
            f"expected one spark-range-join jar in {folder}, found {names}; "
            "reinstall the wheel (pip install --force-reinstall spark-range-join), "
            "or run `make wheel` in a source tree"
        )
    return found[0]
