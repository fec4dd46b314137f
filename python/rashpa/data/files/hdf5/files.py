# SPDX-License-Identifier: Apache-2.0
"""Opens the files to which an HDF5 file links, only in allowed folders. No other module opens them, and the HDF5 library follows no link."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  registers the filters that images need

from rashpa.data.base.bad_file import BadFileError, blaming, is_own
from rashpa.data.files.regular_file import open_regular, real_path, reason


def folders_of(path: Path, follow: Iterable[Path | str] = ()) -> tuple[Path, ...]:
    """Return the folders in which the sources of a file may be: its own folder, as named and with links resolved, and those of `follow`."""
    named = [real_path(folder) for folder in follow]
    return tuple(dict.fromkeys([real_path(path.absolute().parent), real_path(path).parent, *named]))


@dataclass(frozen=True)
class Held:
    """Holds an open HDF5 file. `path`: its path as named; `real`: its path with links resolved."""

    path: Path
    real: Path
    handle: h5py.File

    @property
    def size(self) -> int:
        """Return the present size of the file in bytes."""
        return os.fstat(self.handle.id.get_vfd_handle()).st_size


@dataclass
class Files:
    """Opens files for one reader. `kind`: the type of the errors that it raises; `options`: options of h5py.File."""

    folders: tuple[Path, ...]
    kind: type[BadFileError] = BadFileError
    options: dict[str, Any] = field(default_factory=dict)
    _held: dict[Path, Held] = field(default_factory=dict)

    def open(self, path: Path) -> Held:
        """Return the open HDF5 file; each file is opened once. Raise FileNotFoundError when it does not exist."""
        raw, real = self.opened(path)
        with raw:
            if (known := self._held.get(real)) is not None:
                return known
            # by its number: nobody puts another file in its place meanwhile
            name = f"/proc/self/fd/{raw.fileno()}"
            try:
                handle = h5py.File(name, "r", **self.options)
            except OSError as error:
                if is_own(error):
                    raise
                said = str(error).replace(name, path.name)
                raise self.kind(f"{path}: cannot be opened ({said}); give a complete HDF5 file") from error
        held = Held(path, real, handle)
        self._held[real] = held
        return held

    def source(self, name: str, beside: Held) -> Path:
        """Return the path of a file that `beside` names; for a missing file, its expected path. Raise `kind` when it may not be read."""
        given = Path(name)
        tries = [folder / given for folder in (beside.path.parent, beside.real.parent)]
        if given.is_absolute():  # the folder may have been moved with all that it holds
            tries = [given, beside.path.parent / given.name]
        for path in tries:
            if self.allows(path) and os.path.exists(path):  # noqa: PTH110 (Path.exists raises)
                return path
        for path in tries:
            if not self.allows(path) and (not given.is_absolute() or path == given):
                raise self.outside(path, beside)
        return tries[0]

    def open_source(self, path: Path, beside: Held) -> Held:
        """Open an HDF5 file; `path` comes from source()."""
        try:
            return self.open(path)
        except OSError as error:
            if isinstance(error, FileNotFoundError) or is_own(error):
                raise
            raise self.kind(f"{path}: a part of {beside.path.name}: {reason(error)}") from None

    def open_bytes(self, path: Path, beside: Held) -> io.BufferedReader:
        """Open a file of plain bytes; `path` comes from source(). Raise FileNotFoundError when it does not exist."""
        try:
            return self.opened(path)[0]
        except OSError as error:
            if isinstance(error, FileNotFoundError) or is_own(error):
                raise
            raise self.kind(f"{path}: a part of {beside.path.name}: {reason(error)}") from None

    def allows(self, path: Path) -> bool:
        """Return True when the path, with links resolved, is in an allowed folder or is an allowed file."""
        with blaming(f"{str(path)[:200]!r}", self.kind, "it is no path"):
            real = real_path(path)
        return _lies_in(real, self.folders)

    def outside(self, path: Path, beside: Held) -> BadFileError:
        """Return the error for a source that may not be read."""
        real = real_path(path)
        return self.kind(
            f"{beside.path}: it leads to {path}{f' ({real})' if real != path else ''}, which is in none of the folders that may be read "
            f"({', '.join(map(str, self.folders))}); if it may, allow its folder: --follow {real.parent}, dataset.follow, or --read of a node"
        )

    def close(self) -> None:
        """Close all open files."""
        held, self._held = self._held, {}
        for one in held.values():
            one.handle.close()

    def opened(self, path: Path) -> tuple[io.BufferedReader, Path]:
        """Open a file in an allowed folder for reading bytes; return it and its path with links resolved. Raise OSError."""
        file = open_regular(path)
        real = Path(f"/proc/self/fd/{file.fileno()}").readlink()
        if _lies_in(real, self.folders):
            return file, real
        file.close()
        raise PermissionError(errno.EACCES, f"it lies in {real.parent}, which may not be read", str(path))


def _lies_in(real: Path, folders: tuple[Path, ...]) -> bool:
    return any(real == folder or folder in real.parents for folder in folders)
