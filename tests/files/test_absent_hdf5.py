# SPDX-License-Identifier: Apache-2.0
"""Tests HDF5 files with bytes that are absent, elsewhere, or decompress to more than declared: each reader names the fault, and none takes fill
values for images."""

import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import pytest

_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.data.base.bad_file import BadFileError  # noqa: E402
from rashpa.data.datasets.dataset_spec import StoredSpec  # noqa: E402
from rashpa.data.datasets.replay import load_replay  # noqa: E402
from rashpa.data.files.hdf5.tree import Hdf5File  # noqa: E402
from rashpa.data.stored.stored_images import RawShape, describe, open_stored  # noqa: E402
from rashpa.data.stored.stored_piece import Reading, StoredError  # noqa: E402

HEIGHT, WIDTH, IMAGES = 16, 24, 6
FRAMES = np.random.default_rng(1).integers(1, 200, (IMAGES, HEIGHT, WIDTH)).astype(np.uint16)
NAME = "/entry/data/data"
PACKED = {"chunks": (1, HEIGHT, WIDTH), **hdf5plugin.Bitshuffle()}


def part(path: Path, first: int, end: int) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset(NAME, data=FRAMES[first:end], **PACKED)


def virtual(folder: Path, second: str) -> None:
    part(folder / "a.h5", 0, 3)
    layout = h5py.VirtualLayout(FRAMES.shape, FRAMES.dtype)
    layout[:3] = h5py.VirtualSource("a.h5", NAME, (3, HEIGHT, WIDTH))
    layout[3:] = h5py.VirtualSource(second, NAME, (3, HEIGHT, WIDTH))
    with h5py.File(folder / "x_master.h5", "w") as file:
        file.create_virtual_dataset(NAME, layout)


def linked(folder: Path, second: str) -> None:
    part(folder / "a.h5", 0, 3)
    with h5py.File(folder / "x_master.h5", "w") as file:
        file["entry/data/data_1"] = h5py.ExternalLink("a.h5", NAME)
        file["entry/data/data_2"] = h5py.ExternalLink(second, NAME)


def external(folder: Path, name: str) -> None:
    with h5py.File(folder / "x_master.h5", "w") as file:
        file.create_dataset(NAME, FRAMES.shape, FRAMES.dtype, external=[(name, 0, FRAMES.nbytes)])


def unwritten(folder: Path) -> None:
    with h5py.File(folder / "x_master.h5", "w") as file:
        file.create_dataset(NAME, FRAMES.shape, FRAMES.dtype, **PACKED)[:3] = FRAMES[:3]


def short_external(folder: Path) -> None:
    external(folder, "x.raw")
    (folder / "x.raw").write_bytes(FRAMES[:3].tobytes())


def symlink(folder: Path) -> None:
    part(outside(folder), 3, 6)
    (folder / "b.h5").symlink_to(outside(folder))
    virtual(folder, "b.h5")


def outside(folder: Path) -> Path:
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    return elsewhere / "b.h5"


def with_part_outside(make: Callable[[Path, str], None]) -> Callable[[Path], None]:
    def made(folder: Path) -> None:
        part(outside(folder), 3, 6)
        make(folder, str(outside(folder)))

    return made


ABSENT: dict[str, tuple[Callable[[Path], object], str]] = {
    "virtual source": (lambda folder: virtual(folder, "gone.h5"), r"gone\.h5"),
    "linked file": (lambda folder: linked(folder, "gone.h5"), r"gone\.h5"),
    "short external file": (short_external, r"x\.raw.*ends early"),
    "chunk": (unwritten, "never written"),
}
OUTSIDE = {
    "virtual source": with_part_outside(virtual),
    "link": with_part_outside(linked),
    "external storage": lambda folder: external(folder, "/etc/passwd"),
    "symlink": symlink,
}


def described(path: Path, reading: Reading) -> None:
    describe([path], RawShape(0, 0, "uint16"), reading)


def replayed(path: Path, reading: Reading) -> None:
    follow = [str(folder) for folder in reading.follow]
    spec = StoredSpec(
        kind="stored", path=str(path), width=WIDTH, height=HEIGHT, follow=follow, allow_missing=reading.allow_missing
    )
    dataset = load_replay(spec).dataset
    for n in range(dataset.frames):
        np.testing.assert_array_equal(dataset.frame(0, n), FRAMES[n])


READERS = pytest.mark.parametrize("read", [described, replayed])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "data"
    found.mkdir()
    return found


@READERS
@pytest.mark.parametrize("case", ABSENT)
def test_what_is_absent_is_said_and_may_be_left_out(
    folder: Path, case: str, read: Callable[[Path, Reading], None]
) -> None:
    make, words = ABSENT[case]
    make(folder)
    with pytest.raises((StoredError, _native.FileError), match=words):
        read(folder / "x_master.h5", Reading())
    read(folder / "x_master.h5", Reading(allow_missing=True))


@READERS
@pytest.mark.parametrize("case", OUTSIDE)
def test_what_lies_outside_is_refused_until_its_folder_is_named(
    folder: Path, case: str, read: Callable[[Path, Reading], None]
) -> None:
    OUTSIDE[case](folder)
    for allow_missing in (False, True):
        with pytest.raises((StoredError, _native.FileError), match="none of the folders that may be read"):
            read(folder / "x_master.h5", Reading(allow_missing=allow_missing))
    if case != "external storage":
        read(folder / "x_master.h5", Reading(follow=(outside(folder).parent,)))


def test_a_chunk_unpacks_to_no_more_than_it_declares(folder: Path) -> None:
    with h5py.File(folder / "x.h5", "w") as file:
        data = file.create_dataset("d", (1, HEIGHT, WIDTH), "u2", chunks=(1, HEIGHT, WIDTH), compression="gzip")
        data.id.write_direct_chunk((0, 0, 0), zlib.compress(bytes(1 << 20)))
    with Hdf5File(folder / "x.h5") as file, pytest.raises(ValueError, match="more than the 768 bytes"):
        file["d"][()]


@pytest.mark.parametrize("nested", [False, True])
def test_pixels_that_no_source_has_are_no_measurement(tmp_path: Path, nested: bool) -> None:
    """Check gaps between a detector's modules, for which the HDF5 library returns 0."""
    part(tmp_path / "a.h5", 0, 6)
    layout = h5py.VirtualLayout(FRAMES.shape, FRAMES.dtype)
    source = h5py.VirtualSource("a.h5", NAME, FRAMES.shape)
    layout[:, :, : WIDTH // 2 - 1] = source[:, :, : WIDTH // 2 - 1]
    layout[:, :, WIDTH // 2 + 1 :] = source[:, :, WIDTH // 2 + 1 :]
    with h5py.File(tmp_path / "x_master.h5", "w") as file:
        file.create_virtual_dataset(NAME, layout)
    if nested:
        (tmp_path / "x_master.h5").rename(tmp_path / "inner.h5")
        layout = h5py.VirtualLayout(FRAMES.shape, FRAMES.dtype)
        layout[:] = h5py.VirtualSource("inner.h5", NAME, FRAMES.shape)
        with h5py.File(tmp_path / "x_master.h5", "w") as file:
            file.create_virtual_dataset(NAME, layout)
    stored = open_stored([tmp_path / "x_master.h5"], RawShape(0, 0, "uint16"))
    try:
        images = stored.read(0, 6).images
    finally:
        stored.close()
    wanted = FRAMES.copy()
    wanted[:, :, WIDTH // 2 - 1 : WIDTH // 2 + 1] = np.iinfo(FRAMES.dtype).max
    np.testing.assert_array_equal(images, wanted)


@pytest.mark.parametrize("kind", ["soft", "external"])
def test_what_a_whole_link_leads_to_may_lack_a_member_and_a_broken_link_may_not(tmp_path: Path, kind: str) -> None:
    part(tmp_path / "a.h5", 0, 3)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["own/data"] = FRAMES
        whole, broken = ("own", "nothing") if kind == "soft" else ("/entry/data", "/nothing")
        for name, path in (("whole", whole), ("broken", broken)):
            file[name] = h5py.SoftLink(f"/{path}") if kind == "soft" else h5py.ExternalLink("a.h5", path)
    with Hdf5File(tmp_path / "x.h5") as file:
        assert file.find("whole/data") is not None
        assert file.get("whole/saturation_value") is None
        assert file.get("whole/data/of_an_array") is None
        with pytest.raises(BadFileError, match="nothing"):
            file.get("broken/saturation_value")
