# SPDX-License-Identifier: Apache-2.0
"""Prepares the output folders of a configuration. Makes each folder, and refuses files of an earlier run unless they may be replaced.

No data are moved or removed before the run begins: the sink writes beside older files, and takes their names when it begins. At that moment the node
also removes files that no sink of the new run replaces: series of the older run, and files that link to its images.
"""

import contextlib
import errno
import re
from pathlib import Path

from rashpa.data.files.regular_file import be_there
from rashpa.data.parts.older_files import SERIES, leaders_of, older_files
from rashpa.node.engine.engine import EngineError

_ATTEMPTS = 100


def prepare_output(prefix: Path, existing: str) -> None:
    """Make the folder and protect it until release_output(), so that the clean-up after a run that never began does not remove it. Raise EngineError
    when older files exist (existing = "refuse") or the folder cannot be made."""
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


class OlderFiles:
    """Holds files of an older run with this prefix that no sink replaces: series files, and files that link to its images."""

    def __init__(self, prefix: Path) -> None:
        start = re.compile(re.escape(f"{prefix.name}_") + SERIES)
        series = [path for path in older_files(prefix) if start.match(path.name)]
        self._files = {path: _identity(path) for path in (*leaders_of(prefix), *series)}

    def remove(self) -> None:
        """Remove the older files after the run has begun; remove linking files first, so that no file links to missing images. Keep files that the
        new run has written under these names, and files that cannot be removed."""
        for path in sorted(self._files, key=lambda path: not path.name.endswith(("_master.h5", ".cxi", "_frames.h5"))):
            with contextlib.suppress(OSError):
                if _identity(path) == self._files[path]:
                    path.unlink()


def _identity(path: Path) -> tuple[int, int, int]:
    facts = path.lstat()
    return facts.st_dev, facts.st_ino, facts.st_mtime_ns


def release_output(prefix: Path) -> None:
    """End the protection of the folder: its files exist now, or will never be made."""
    with contextlib.suppress(OSError):
        _place_of(prefix).unlink()


def _place_of(prefix: Path) -> Path:
    return prefix.with_name(f".{prefix.name}_begins")


def _occupy(prefix: Path) -> None:
    for _ in range(_ATTEMPTS):
        prefix.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # taken away since
            return be_there(_place_of(prefix))
    raise FileNotFoundError(errno.ENOENT, "others take it away again and again")
