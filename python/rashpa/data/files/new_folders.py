# SPDX-License-Identifier: Apache-2.0
"""Folders that are made for files, and removed again when they stay empty."""

import contextlib
from collections.abc import Iterable
from pathlib import Path


def missing_folders(folder: Path) -> list[Path]:
    """Return the folders to make so that `folder` is there; the deepest first."""
    absolute = folder.absolute()
    return [path for path in (absolute, *absolute.parents) if not path.exists()]


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove the folders of a run that never began; a folder with content stays."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
