# SPDX-License-Identifier: Apache-2.0
"""Virtual datasets are read from the arrays that they name, and lack the values that these lack."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from rashpa.data.base.bad_file import BadFileError
from rashpa.data.files.hdf5.files import Files
from rashpa.data.files.hdf5.layouts import Absence, Place
from rashpa.data.files.hdf5.selection import slices
from rashpa.data.files.hdf5.virtual import Virtual

ROW = ((0, 2),)


class Memory:
    """Replaces the array of a source, and its layout."""

    def __init__(self, values: list[list[int]], absent: Absence | None = None) -> None:
        self.values = np.array(values, np.uint16)
        self.shape = self.values.shape
        self.layout = self
        self._absent = absent

    def absent(self, box: Any) -> Absence | None:
        return self._absent

    def read(self, box: Any) -> np.ndarray:
        return self.values[slices(box)]


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    made = Files((tmp_path,))
    yield made
    made.close()


def virtual(files: Files, sources: dict[str, Any], rows: int = 5, fill: int = 0) -> Virtual:
    """Make a dataset of `rows` × 2 values: rows 0 … 1 are those of a, rows 3 … 4 those of b."""
    layout = h5py.VirtualLayout((rows, 2), np.uint16)
    layout[0:2] = h5py.VirtualSource("a.h5", "data", (2, 2))
    layout[3:5] = h5py.VirtualSource("b.h5", "data", (2, 2))
    path = files.folders[0] / "all.h5"
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("data", layout, fillvalue=fill)
    held = files.open(path)
    return Virtual(Place(files, held, held.handle["data"]), lambda file, name: sources[file])


A, B = Memory([[1, 2], [3, 4]]), Memory([[5, 6], [7, 8]])


def test_rows_come_from_their_sources(files: Files) -> None:
    found = virtual(files, {"a.h5": A, "b.h5": B}, fill=9)
    assert found.read(((0, 5), *ROW)).tolist() == [[1, 2], [3, 4], [9, 9], [5, 6], [7, 8]]
    assert found.read(((1, 4), (1, 2))).tolist() == [[4], [9], [6]]
    assert found.gaps(((0, 5), *ROW)) is None  # the file says itself what such values are


def test_rows_without_a_source_are_absent_and_gaps(files: Files) -> None:
    found = virtual(files, {"a.h5": A, "b.h5": B})
    assert found.absent(((0, 2), *ROW)) is None and found.absent(((3, 5), *ROW)) is None
    absent = found.absent(((1, 4), *ROW))
    assert absent is not None
    assert (absent.kind, absent.text.rpartition(": ")[2]) == ("unwritten", "no file is named for it")
    gaps = found.gaps(((1, 4), *ROW))
    assert gaps is not None and gaps.tolist() == [[False, False], [True, True], [False, False]]


def test_absences_of_a_source_are_those_of_its_rows(files: Files) -> None:
    cut, gone = Absence("short", "b.h5 ends early"), Absence("file", "a.h5 is not there")
    found = virtual(files, {"a.h5": gone, "b.h5": Memory([[5, 6], [7, 8]], cut)})
    assert found.absent(((0, 1), *ROW)) is gone
    assert found.absent(((4, 5), *ROW)) is cut
    with pytest.raises(BadFileError, match=r"a.h5 is not there"):
        found.read(((0, 1), *ROW))
    absent = found.absent(((0, 6), *ROW))
    assert absent is not None and absent.kind == "short"


def test_an_image_of_which_a_part_has_no_source_is_absent(files: Files) -> None:
    layout = h5py.VirtualLayout((2, 2), np.uint16)
    layout[0:2, 0:1] = h5py.VirtualSource("a.h5", "data", (2, 1))
    layout[0:1, 1:2] = h5py.VirtualSource("b.h5", "data", (1, 1))
    path = files.folders[0] / "all.h5"
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("data", layout, fillvalue=0)
    held = files.open(path)
    sources: dict[str, Any] = {"a.h5": Memory([[1], [2]]), "b.h5": Memory([[3]])}
    found = Virtual(Place(files, held, held.handle["data"]), lambda file, name: sources[file])
    assert found.absent(((0, 1), *ROW)) is None
    absent = found.absent(((1, 2), *ROW))
    assert absent is not None and absent.kind == "unwritten"
    assert found.read(((0, 2), *ROW)).tolist() == [[1, 3], [2, 0]]
