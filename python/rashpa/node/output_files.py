# SPDX-License-Identifier: Apache-2.0
"""Where a configuration's files go: the folder is made, and files of an earlier run are in the way unless they may be replaced.

No data is moved or removed here: the sink writes beside older files and takes their names when the run begins.
"""

import contextlib
import errno
import re
from pathlib import Path

from rashpa.node.engine import EngineError

_ATTEMPTS = 100
_OURS = re.compile(r"(s[0-9]{4,}_)?(master\.(h5|journal)|data_[0-9]+\.h5|(tables|accumulated)\.h5)")


def prepare_output(prefix: Path, existing: str) -> None:
    """Until release_output() the folder is not empty, so that nobody whose run never began takes it away. EngineError when older files are in the
    way (existing = "refuse") or the folder cannot be."""
    try:
        _occupy(prefix)
        old = older_files(prefix)
    except OSError as error:
        raise EngineError("file", f"{prefix.parent}: {error.strerror}; choose another run.output") from None
    if old and existing != "replace":
        raise EngineError(
            "file",
            f'{old[0]} exists; move it, choose another run.name or run.output, or set run.existing = "replace"',
        )


def release_output(prefix: Path) -> None:
    """The files are there, or will never be."""
    with contextlib.suppress(OSError):
        _place_of(prefix).unlink()


def _place_of(prefix: Path) -> Path:
    return prefix.with_name(f".{prefix.name}_begins")


def _occupy(prefix: Path) -> None:
    for _ in range(_ATTEMPTS):
        prefix.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # taken away since
            return _place_of(prefix).touch()
    raise FileNotFoundError(errno.ENOENT, "others take it away again and again")


def older_files(prefix: Path) -> list[Path]:
    """<prefix>_master.h5, <prefix>_master.journal and <prefix>_data_000001.h5 …, also of series (<prefix>_s0001 …), by name."""
    found = (path for path in prefix.parent.iterdir() if path.name.startswith(f"{prefix.name}_"))
    rest = ((path, path.name.removeprefix(f"{prefix.name}_")) for path in found)
    return sorted(path for path, what in rest if _OURS.fullmatch(what))
