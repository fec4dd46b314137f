# SPDX-License-Identifier: Apache-2.0
"""Names the files of a buffer of a run beside their master, and tells whether the master is complete."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rashpa.data.base.bad_file import BadFileError, is_own
from rashpa.data.base.rashpa_error import old_names
from rashpa.data.files.file_names import absent, encoding_trouble
from rashpa.data.files.hdf5.files import Files, folders_of
from rashpa.data.files.hdf5.tree import Group
from rashpa.data.files.regular_file import reason
from rashpa.data.parts.older_files import MASTER, older_files

LEADS_TO = "rashpa_masters"
"""Attribute of the root of a file that leads to several masters: their names, relative to its folder."""


class StoredRunError(BadFileError):
    """Reports a file that cannot be read as a run; the text names the fault, its place and a remedy."""


if not TYPE_CHECKING:  # a type checker would believe that every name is there
    __getattr__ = old_names(__name__, RunFileError=StoredRunError)


def prefix_of(master: Path) -> Path:
    """Return the prefix that the names of all files of the master's run share."""
    return master.with_name(master.name.removesuffix(MASTER))


def data_file(master: Path, number: int, ending: Literal["h5", "raw"]) -> Path:
    """Return the path of data file `number`, as the tables number stored files."""
    prefix = prefix_of(master)
    return prefix.with_name(f"{prefix.name}_data_{number:06}.{ending}")


def is_complete(master: Group) -> bool:
    """Return True when the receiver has completed the file, or it was repaired: the books are written last."""
    return "entry/rashpa/books" in master


def size_of_parts(prefix: Path, follow: Iterable[Path] = ()) -> int:
    """Return the bytes on disk of all files of a run. Raise StoredRunError when its master is missing, when a file is not regular, or when it is,
    with links resolved, outside of the readable folders. Native code opens the files by name."""
    if trouble := encoding_trouble(prefix):
        raise StoredRunError(trouble)
    master = prefix.with_name(f"{prefix.name}{MASTER}")
    files = Files(folders_of(master, follow), StoredRunError)
    size = 0
    for path in sorted({master, *(older_files(prefix) if prefix.parent.is_dir() else ())}):
        try:
            with files.opened(path)[0] as file:
                size += os.fstat(file.fileno()).st_blocks * 512
        except FileNotFoundError:
            if prefix.is_file():
                raise StoredRunError(
                    f"{prefix}: it is no master of a run, whose name ends in {MASTER}; give that file, or the beginning of its name"
                ) from None
            raise StoredRunError(f"{path}: {absent(path, (MASTER,))}; give the _master.h5 file of a run") from None
        except PermissionError as error:
            raise StoredRunError(f"{path}: {reason(error)}; if it may, allow its folder: --follow DIR") from None
        except (OSError, ValueError) as error:
            if is_own(error):
                raise
            raise StoredRunError(f"{path}: {reason(error) if isinstance(error, OSError) else error}") from None
    return size
