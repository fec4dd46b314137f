# SPDX-License-Identifier: Apache-2.0
"""Lists folders to make for files, and removes them again when they stay empty."""

import contextlib
from collections.abc import Iterable
from pathlib import Path


def missing_folders(folder: Path) -> list[Path]:
    """Return the folders that must be made for `folder` to exist, the deepest first."""
    absolute = folder.absolute()
    return [path for path in (absolute, *absolute.parents) if not path.exists()]


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove the folders that are empty, for a run that never began."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
