# SPDX-License-Identifier: Apache-2.0
"""Stored images are found in their data files, and each absent one has a reason."""

from pathlib import Path
from typing import Any

import numpy as np

from rashpa.data.files.hdf5.layouts import Absence
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.stored_places import StoredPlaces, absent_images, absent_lists

MASTER = Path("run_master.h5")


class Images:
    """Replaces the images of a data file, some of them absent."""

    def __init__(self, length: int, absences: dict[int, Absence] | None = None) -> None:
        self._length, self._absences = length, absences or {}

    def __len__(self) -> int:
        return self._length

    def absences(self) -> dict[int, Absence]:
        return self._absences


def parts(**files: Images) -> Any:
    def part(name: str) -> Images:
        if name not in files:
            raise StoredRunError(f"{name} is not there")
        return files[name]

    return part


def test_a_table_of_places_is_taken_as_it_is() -> None:
    rashpa: Any = {"stored_file": np.array([2, 0, 1]), "stored_place": np.array([5, 0, 6])}
    found = StoredPlaces.of(rashpa, [], parts(), np.array([0, 2]))
    assert (found.row.tolist(), found.part, found.place.tolist()) == ([0, 2], ("data_000002", "data_000001"), [5, 6])


def test_older_files_are_counted_through() -> None:
    rashpa: Any = {"stored_index": np.array([3, 0, 9, 1, 2])}
    names = ["data_000001", "data_000002", "data_000003"]
    part = parts(data_000001=Images(2), data_000003=Images(1))
    found = StoredPlaces.of(rashpa, names, part, np.array([0, 1, 3, 4]))
    assert found.row.tolist() == [1, 3, 4, 0]  # in the order in which they were stored
    assert found.part == ("data_000001", "data_000001", "data_000003", "")
    assert found.place.tolist() == [0, 1, 0, 0]


def test_each_absent_image_has_its_reason() -> None:
    places = StoredPlaces(np.arange(5), ("data_1", "data_1", "data_1", "data_2", ""), np.array([0, 1, 2, 0, 0]))
    part = parts(data_1=Images(2, {1: Absence("unwritten", "never written")}))
    assert absent_images(MASTER, part, places) == {
        1: "run_master.h5: receiver ended early: image 1 is not in its data_1: never written; copy it again",
        2: "run_master.h5: data file cut: image 2 is not in its data_1: it holds fewer images than the master says; copy it again",
        3: "data file gone: data_2 is not there",
        4: "run_master.h5: data file cut: its data files hold fewer images than it says; copy them again",
    }


class Found:
    """Replaces the group of lists; names without a list are missing."""

    def find(self, name: str) -> Absence:
        return Absence("file", f"{name} is gone")


def test_lists_of_a_file_that_is_gone_are_absent() -> None:
    group: Any = Found()
    assert absent_lists(MASTER, group, np.array([0, 3, 5], np.uint64), np.array([4, 6])) == {
        4: "run_master.h5: the list of image 4 is not there: index is gone; copy it again",
        6: "run_master.h5: the list of image 6 is not there: index is gone; copy it again",
    }
