"""Where a node may read and write, whatever a telegram says: a telegram comes from whoever can give orders, the node reads and writes as who
started it."""

from collections.abc import Iterable
from pathlib import Path

from rashpa.control.dataset_check import files_of
from rashpa.control.dataset_spec import AnyDatasetSpec, DirectorySpec
from rashpa.node.engine import EngineError


class Folders:
    """Folders, or single files, with all that lies below; links and `..` are followed before a path is looked at."""

    def __init__(self, read: Iterable[Path], write: Iterable[Path]) -> None:
        self._read = frozenset(path.resolve() for path in read)
        self._write = frozenset(path.resolve() for path in write)

    def check_read(self, spec: AnyDatasetSpec, base: Path) -> None:
        """EngineError when the dataset has a file elsewhere; relative paths count from `base`."""
        for _, path in files_of(spec.resolved(base)):
            _check(path, self._read, "read")
            if isinstance(spec, DirectorySpec) and path.is_dir():
                for entry in path.iterdir():
                    _check(entry, self._read, "read")

    def check_write(self, path: Path) -> None:
        """EngineError when a file may not be made there."""
        _check(path, self._write, "write")


EVERYWHERE = Folders((Path("/"),), (Path("/"),))
"""Of an engine in the process of who gives the orders."""


def _check(path: Path, allowed: frozenset[Path], what: str) -> None:
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a byte 0
        raise EngineError("file", f"{str(path)!r} is no path: {error}") from None
    if resolved not in allowed and allowed.isdisjoint(resolved.parents):
        known = ", ".join(sorted(map(str, allowed))[:5]) or "nowhere"
        raise EngineError(
            "file",
            f"{path}: this node may {what} {'below ' if allowed else ''}{known} alone; start it with --{what} {resolved.parent}, "
            f"or name a place there",
        )
