# SPDX-License-Identifier: Apache-2.0
"""The files of a buffer of a run: what they are called beside their master, and whether it is complete."""

from pathlib import Path
from typing import Literal

from rashpa.data.bad_file import BadFileError
from rashpa.data.hdf5.tree import Group
from rashpa.data.older_files import MASTER


class RunFileError(BadFileError):
    """The file cannot be read as a run; the text says what, where and what to try."""


def prefix_of(master: Path) -> Path:
    """What the names of all its files begin with."""
    return master.with_name(master.name.removesuffix(MASTER))


def data_file(master: Path, number: int, ending: Literal["h5", "raw"]) -> Path:
    """Of the images that the tables call stored in file `number`."""
    prefix = prefix_of(master)
    return prefix.with_name(f"{prefix.name}_data_{number:06}.{ending}")


def is_complete(master: Group) -> bool:
    """Whether its receiver has come to the run's end, or the file was repaired: the books are written last."""
    return "entry/rashpa/books" in master
