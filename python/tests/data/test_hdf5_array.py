# SPDX-License-Identifier: Apache-2.0
"""One array of an HDF5 file, for maps and masks: present values are read, and absent bytes are an error."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from rashpa.data.files.hdf5_array import hdf5_array

SHAPE = (4, 6)
VALUES = np.arange(24, dtype=np.uint32).reshape(SHAPE)


def contiguous(file: h5py.File) -> None:
    file["maps/mask"] = VALUES


def compact(file: h5py.File) -> None:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.COMPACT)
    space, kind = h5py.h5s.create_simple(SHAPE), h5py.h5t.py_create(VALUES.dtype)
    data = h5py.h5d.create(file.create_group("maps").id, b"mask", kind, space, properties)
    data.write(h5py.h5s.ALL, h5py.h5s.ALL, VALUES)


def deflated(file: h5py.File) -> None:
    file.create_dataset("maps/mask", data=VALUES, chunks=(3, 4), compression="gzip", shuffle=True)


def linked(file: h5py.File) -> None:
    file["there"] = VALUES
    file["maps/mask"] = h5py.SoftLink("/there")


@pytest.mark.parametrize("make", [contiguous, compact, deflated, linked])
@pytest.mark.parametrize("inner", ["/maps/mask", ""])
def test_an_array_is_read_by_its_name_or_as_the_only_one_that_fits(
    tmp_path: Path, make: Callable[[h5py.File], None], inner: str
) -> None:
    with h5py.File(tmp_path / "m.h5", "w") as file:
        make(file)
        file["other"] = np.zeros((2, 2))
    np.testing.assert_array_equal(hdf5_array(tmp_path / "m.h5", inner, SHAPE), VALUES)


def never_written(file: h5py.File) -> None:
    file.create_dataset("maps/mask", SHAPE, "uint32")


def chunk_never_written(file: h5py.File) -> None:
    data = file.create_dataset("maps/mask", SHAPE, "uint32", chunks=(2, 6))
    data[:2] = 1


def in_another_file(file: h5py.File) -> None:
    with h5py.File(Path(file.filename).with_name("o.h5"), "w") as other:
        other["mask"] = VALUES
    file["maps/mask"] = h5py.ExternalLink("o.h5", "mask")


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(SHAPE, "uint32")
    layout[:] = h5py.VirtualSource("o.h5", "mask", SHAPE)
    file.create_virtual_dataset("maps/mask", layout)


def external_storage(file: h5py.File) -> None:
    file.create_dataset("maps/mask", SHAPE, "uint32", external=[("raw.bin", 0, VALUES.nbytes)])


def to_itself(file: h5py.File) -> None:
    file["maps/mask"] = h5py.SoftLink("/maps/mask")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (never_written, "never written"),
        (chunk_never_written, "never written"),
        (in_another_file, "lies in another file"),
        (virtual, "lies in other files"),
        (external_storage, "lies in other files"),
        (to_itself, "link to itself"),
    ],
)
def test_what_has_no_bytes_in_the_file_is_refused(tmp_path: Path, make: Callable[[h5py.File], None], says: str) -> None:
    with h5py.File(tmp_path / "m.h5", "w") as file:
        make(file)
    with pytest.raises(ValueError, match=says):
        hdf5_array(tmp_path / "m.h5", "/maps/mask", SHAPE)


def test_an_array_whose_file_was_cut_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "m.h5", "w", libver="latest") as file:
        file.create_dataset("mask", data=np.arange(1 << 16, dtype=np.uint32).reshape(256, 256), chunks=(16, 256))
    size = (tmp_path / "m.h5").stat().st_size
    with (tmp_path / "m.h5").open("rb+") as file:
        file.truncate(size // 2)
    with pytest.raises((ValueError, OSError)):
        hdf5_array(tmp_path / "m.h5", "/mask", (256, 256))
