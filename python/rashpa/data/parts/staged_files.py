# SPDX-License-Identifier: Apache-2.0
"""Makes files of a run in a temporary folder beside their final place, and gives them their names when they are complete. A failure leaves no files."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rashpa.data.base.ended import ended_in_order
from rashpa.data.files.file_names import encoding_trouble
from rashpa.data.files.regular_file import check_no_device, open_regular, sync_file, sync_names
from rashpa.data.files.writer_lock import has_writer
from rashpa.data.parts.older_files import JOURNAL, MASTER, SERIES, leaders_of, older_files
from rashpa.data.parts.run_parts import StoredRunError


class Staged:
    """Holds the temporary place of files. They link to one another by name, so that they can be moved together."""

    def __init__(self, target: Path, folder: Path, replace: bool) -> None:
        self.prefix = folder / target.name
        self._target, self._replace = target, replace

    def named(self, text: str) -> str:
        """Return `text`, which is about these files, with their final names."""
        return text.replace(str(self.prefix), str(self._target))

    def publish(self) -> Path:
        """Give the files their final names, the master last, and return the master. Raise StoredRunError when other files have taken these names."""
        check_free(self._target, self._replace)
        made = sorted(self.prefix.parent.iterdir(), key=lambda path: path.name.endswith(MASTER))
        try:
            for path in made:
                sync_file(path)
            # an old master beside new data files would show their images under its own numbers: it goes first
            replaced = sorted(_own_files(self._target), key=lambda path: not path.name.endswith(MASTER))
            for old in (*(leaders_of(self._target) if replaced else ()), *replaced):
                old.unlink()
            for path in made:
                path.rename(self._target.with_name(path.name))
            sync_names(self._target.parent)
        except OSError as error:
            raise StoredRunError(
                f"{self._target}: finished files cannot be given their names there ({error.strerror}); choose another folder"
            ) from None
        return self._target.with_name(f"{self._target.name}{MASTER}")


def check_free(target: Path, replace: bool) -> None:
    """Raise StoredRunError when files of this prefix exist and may not be replaced, or when their folder does not exist."""
    if trouble := encoding_trouble(target):
        raise StoredRunError(trouble)
    if not target.name or not target.parent.is_dir():
        raise StoredRunError(f"{target}: there is no folder {target.parent}; create it, or choose another name")
    if not replace and (old := older_files(target)):
        raise StoredRunError(f"{old[0]} exists; move it, choose another name, or give --replace")
    if _is_written(target.with_name(f"{target.name}{JOURNAL}")):
        raise StoredRunError(
            f"{target}{MASTER} is being written by another process; wait for its end, or choose another name"
        )


def _own_files(target: Path) -> list[Path]:
    """Return the files of this prefix without files of series."""
    series = re.compile(re.escape(f"{target.name}_") + SERIES)
    return [path for path in older_files(target) if not series.match(path.name)]


def _is_written(journal: Path) -> bool:
    """Return True when a living process writes the journal's run: it holds a lock on the journal."""
    try:
        with open_regular(journal) as file:
            return has_writer(file.fileno())
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def staged_files(target: Path, *, replace: bool = False) -> Iterator[Staged]:
    """Make a temporary place for files of the prefix `target`; files that were not published are removed at the end. Raise StoredRunError."""
    check_free(target, replace)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise StoredRunError(
            f"{target.parent}: cannot be written to ({error.strerror}); choose another folder"
        ) from None
    with ended_in_order():
        try:
            yield Staged(target, folder, replace)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename the file to `path` when the block ends without an error, otherwise remove it. Raise OSError."""
    check_no_device(path)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    with ended_in_order():
        try:
            made = folder / path.name
            yield made
            sync_file(made)
            made.replace(path)
            sync_names(path.parent)
        except OSError as error:
            if error.filename != str(folder / path.name):
                raise
            raise OSError(error.errno, error.strerror, str(path)) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)
