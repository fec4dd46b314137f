"""Where a configuration's files go: the folder is made, and files of an earlier run are in the way unless they may be replaced.

Nothing is moved or removed here: the sink writes beside older files and takes their names when the run begins.
"""

from pathlib import Path

from rashpa.node.engine import EngineError


def prepare_output(prefix: Path, existing: str) -> None:
    """EngineError when older files are in the way (existing = "refuse") or the folder cannot be."""
    try:
        prefix.parent.mkdir(parents=True, exist_ok=True)
        old = _files_of(prefix)
    except OSError as error:
        raise EngineError("file", f"{prefix.parent}: {error.strerror}; choose another run.output") from None
    if old and existing != "replace":
        raise EngineError(
            "file",
            f'{old[0]} exists; move it, choose another run.name or run.output, or set run.existing = "replace"',
        )


def _files_of(prefix: Path) -> list[Path]:
    """<prefix>_master.h5 and <prefix>_data_000001.h5 …, by name."""
    found = (
        path for path in prefix.parent.iterdir() if path.name.startswith(f"{prefix.name}_") and path.suffix == ".h5"
    )
    rest = ((path, path.name.removeprefix(f"{prefix.name}_").removesuffix(".h5")) for path in found)
    return sorted(path for path, what in rest if what == "master" or (what.startswith("data_") and what[5:].isdigit()))
