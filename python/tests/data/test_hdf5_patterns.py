# SPDX-License-Identifier: Apache-2.0
"""Virtual datasets with numbered sources, in HDF5's form: %b is the number of a block of images."""

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.data.base.bad_file import BadFileError
from rashpa.data.files.hdf5.tree import Array, Hdf5File

FREE = h5py.h5s.UNLIMITED
BLOCK, ROWS, COLUMNS = 4, 3, 5


def block(number: int) -> NDArray[np.int32]:
    return (100 * number + np.arange(BLOCK * ROWS * COLUMNS, dtype=np.int32)).reshape(BLOCK, ROWS, COLUMNS)


def sources(folder: Path, name: str = "s_{}.h5", count: int = 3) -> None:
    for number in range(count):
        with h5py.File(folder / name.format(number), "w") as file:
            file["data"] = block(number)


def leading(
    folder: Path, file: bytes = b"s_%b.h5", name: bytes = b"data", start: int = 0, count: Any = FREE, axis: int = 0
) -> Path:
    """Write a dataset with sources named by a pattern."""
    path = folder / "v.h5"
    shape, most = [0 if axis == 0 else BLOCK, ROWS, COLUMNS], [BLOCK, ROWS, COLUMNS]
    most[axis] = FREE
    counts, steps, sizes = [1, 1, 1], [1, 1, 1], [BLOCK, ROWS, COLUMNS]
    counts[axis], steps[axis] = count, sizes[axis]
    with h5py.File(path, "w", libver="latest") as made:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        space = h5py.h5s.create_simple(tuple(shape), tuple(most))
        space.select_hyperslab((start, 0, 0), tuple(counts), tuple(steps), tuple(sizes))
        source = h5py.h5s.create_simple((BLOCK, ROWS, COLUMNS), (FREE, ROWS, COLUMNS))
        if b"%b" not in file + name:
            source.select_hyperslab((0, 0, 0), tuple(counts), tuple(steps), tuple(sizes))
        properties.set_virtual(space, file, name, source)
        h5py.h5d.create(made.id, b"v", h5py.h5t.NATIVE_INT32, space, properties)
    return path


def images_of(path: Path) -> Any:
    with Hdf5File(path) as file:
        found = file["v"]
        assert isinstance(found, Array)
        return found[()]


WHOLE = np.concatenate([block(number) for number in range(3)])


def test_blocks_are_read_in_order_of_their_numbers(tmp_path: Path) -> None:
    sources(tmp_path)
    path = leading(tmp_path)
    np.testing.assert_array_equal(images_of(path), WHOLE)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["v"][()], WHOLE)
    with Hdf5File(path) as ours:
        found = ours["v"]
        assert isinstance(found, Array)
        np.testing.assert_array_equal(found.rows(3, 9), WHOLE[3:9])


def test_a_percent_sign_is_no_pattern_and_names_of_datasets_may_be_one(tmp_path: Path) -> None:
    sources(tmp_path, "100%_{}.h5")
    np.testing.assert_array_equal(images_of(leading(tmp_path, b"100%%_%b.h5")), WHOLE)
    with h5py.File(tmp_path / "all.h5", "w") as file:
        for number in range(3):
            file[f"d{number}"] = block(number)
    np.testing.assert_array_equal(images_of(leading(tmp_path, b"all.h5", b"d%b")), WHOLE)


@pytest.mark.parametrize("gone", [0, 1])
def test_a_number_that_is_gone_is_no_end(tmp_path: Path, gone: int) -> None:
    sources(tmp_path)
    path = leading(tmp_path)
    (tmp_path / f"s_{gone}.h5").unlink()
    with pytest.raises(
        BadFileError,
        match=rf"v\.h5: /v: it leads to s_%b\.h5: s_{gone}\.h5 is not there, and s_{gone + 1}",
    ):
        images_of(path)


@pytest.mark.parametrize("file", [b"s_%b.h5", b"s_1.h5"])
@pytest.mark.timeout(60)
def test_what_hdf5_would_open_by_itself_is_a_regular_file(tmp_path: Path, file: bytes) -> None:
    sources(tmp_path)
    path = leading(tmp_path, file)
    (tmp_path / "s_1.h5").unlink()
    os.mkfifo(tmp_path / "s_1.h5")
    with pytest.raises(BadFileError, match=r"v\.h5: /v: it leads to .*s_1\.h5: "):
        images_of(path)


def test_sources_outside_are_refused_before_hdf5_opens_them(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    sources(tmp_path / "out")
    path = leading(tmp_path / "in", b"../out/s_%b.h5")
    with pytest.raises(BadFileError, match=r"which is in none of the folders that may be read"):
        images_of(path)
    with Hdf5File(path, folders=(tmp_path / "in", tmp_path / "out")) as file:
        found = file["v"]
        assert isinstance(found, Array)
        np.testing.assert_array_equal(found[()], WHOLE)


def test_a_pattern_along_columns_is_refused(tmp_path: Path) -> None:
    sources(tmp_path)
    with pytest.raises(BadFileError, match="its pattern is of no blocks of images"):
        images_of(leading(tmp_path, axis=2))
