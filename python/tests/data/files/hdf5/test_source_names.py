# SPDX-License-Identifier: Apache-2.0
"""Mappings of virtual datasets name one file, or one file for each block of images."""

from pathlib import Path

import h5py
import pytest

from rashpa.data.files.hdf5 import source_names
from rashpa.data.files.hdf5.selection import SelectionError
from rashpa.data.files.hdf5.source_names import check_gap, sources_of

UNLIMITED = h5py.h5s.UNLIMITED


def mapping(file: str, name: str, shape: tuple[int, int], slab: tuple[tuple[int, ...], ...]) -> h5py.h5p.PropDCID:
    """Make the properties of a dataset with one mapping."""
    target = h5py.h5s.create_simple(shape, (UNLIMITED, UNLIMITED))
    target.select_hyperslab(*slab)
    source = h5py.h5s.create_simple(slab[3])  # one block
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_virtual(target, file.encode(), name.encode(), source)
    return made


def found(properties: h5py.h5p.PropDCID, shape: tuple[int, int]) -> list[tuple[str, str, list[int]]]:
    return [(one.file, one.name, one.target.indices[0].tolist()) for one in sources_of(properties, 0, shape)]


def test_a_plain_name_is_one_source_and_a_doubled_percent_one_sign() -> None:
    made = mapping("a%%b.h5", "/data", (4, 2), ((1, 0), (1, 1), (1, 1), (2, 2)))
    assert found(made, (4, 2)) == [("a%b.h5", "/data", [1, 2])]


def test_a_pattern_is_one_source_a_block_and_the_last_block_may_be_short() -> None:
    made = mapping("part_%b.h5", "/data_%b", (3, 2), ((0, 0), (UNLIMITED, 1), (2, 1), (2, 2)))
    assert found(made, (5, 2)) == [
        ("part_0.h5", "/data_0", [0, 1]),
        ("part_1.h5", "/data_1", [2, 3]),
        ("part_2.h5", "/data_2", [4]),
    ]


def test_a_pattern_without_blocks_of_images_is_refused() -> None:
    made = mapping("part_%b.h5", "/data", (4, 2), ((0, 0), (1, UNLIMITED), (1, 2), (2, 2)))
    with pytest.raises(SelectionError, match="its pattern is of no blocks of images"):
        found(made, (4, 2))


def test_a_pattern_of_too_many_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_names, "_MOST_BLOCKS", 3)
    made = mapping("part_%b.h5", "/data", (4, 2), ((0, 0), (UNLIMITED, 1), (1, 1), (1, 2)))
    assert len(found(made, (3, 2))) == 3
    with pytest.raises(SelectionError, match="more than 3 blocks"):
        found(made, (4, 2))


def test_a_file_behind_a_gap_is_named(tmp_path: Path) -> None:
    for number in (0, 1, 3):
        (tmp_path / f"part_{number}.h5").touch()
    check_gap(tmp_path, "part_%b.h5", 4)
    with pytest.raises(SelectionError, match=r"^part_2.h5 is not there, and part_3.h5 is; put the first one there$"):
        check_gap(tmp_path, "part_%b.h5", 2)
    with pytest.raises(SelectionError, match=r"^part_1.h5 is there, and holds none of its images; copy it again$"):
        check_gap(tmp_path, "part_%b.h5", 1)
    check_gap(tmp_path, "part_0.h5", 0)  # no pattern
    check_gap(tmp_path / "gone", "part_%b.h5", 0)
