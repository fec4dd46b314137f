# SPDX-License-Identifier: Apache-2.0
"""NXmx files of other writers as datasets of the emulator: a master, linked data files, chunks of one image, filters of detectors."""

from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa import _native
from rashpa.data.datasets.dataset_spec import StoredSpec
from rashpa.data.datasets.replay import load_replay

pytestmark = pytest.mark.whole

ROWS, COLUMNS, A_FILE, IMAGES = 34, 52, 4, 10
FILTERS = {"bslz4": hdf5plugin.Bitshuffle(cname="lz4"), "lz4": hdf5plugin.LZ4(), "none": {}}


def images(dtype: str) -> NDArray[Any]:
    made = (np.arange(IMAGES * ROWS * COLUMNS) * 7 % 997).reshape(IMAGES, ROWS, COLUMNS).astype(dtype)
    made[:, 3, 4] = np.iinfo(dtype).max if dtype.startswith("u") else -1  # no measurement, as these writers say it
    return made


def write(folder: Path, dtype: str, packed: str, *, virtual: bool = False) -> Path:
    """Write files like DECTRIS' writer (/entry/data/data_000001 … are external links) or Jungfraujoch (/entry/data/data is a virtual dataset of
    them)."""
    every = images(dtype)
    master = folder / "lysozyme_1_master.h5"
    with h5py.File(master, "w") as file:
        file.attrs["default"] = "entry"
        entry = file.create_group("entry")
        entry.attrs["NX_class"], entry.attrs["default"] = "NXentry", "data"
        entry["definition"] = "NXmx"
        entry["start_time"] = "2026-01-31T00:00:00Z"
        detector = entry.create_group("instrument/detector")
        entry["instrument"].attrs["NX_class"], detector.attrs["NX_class"] = "NXinstrument", "NXdetector"
        for name, value, unit in (
            ("detector_distance", 0.15, "m"), ("beam_center_x", 25.5, "pixel"), ("beam_center_y", 17.0, "pixel"), ("x_pixel_size", 7.5e-5, "m"),
            ("y_pixel_size", 7.5e-5, "m"), ("sensor_thickness", 4.5e-4, "m"), ("count_time", 0.01, "s"), ("frame_time", 0.01, "s"),
        ):  # fmt: skip
            detector[name] = value
            detector[name].attrs["units"] = unit
        specific = detector.create_group("detectorSpecific")
        specific["nimages"], specific["ntrigger"] = IMAGES, 1
        specific["x_pixels_in_detector"], specific["y_pixels_in_detector"] = COLUMNS, ROWS
        specific["pixel_mask"] = np.zeros((ROWS, COLUMNS), np.uint32)
        data = entry.create_group("data")
        data.attrs["NX_class"] = "NXdata"
        layout = h5py.VirtualLayout(every.shape, every.dtype)
        for number, first in enumerate(range(0, IMAGES, A_FILE), 1):
            part = every[first : first + A_FILE]
            name = f"lysozyme_1_data_{number:06}.h5"
            with h5py.File(folder / name, "w") as other:
                filters: Any = FILTERS[packed]
                made = other.create_dataset(
                    "entry/data/data", data=part, chunks=(1, ROWS, COLUMNS), maxshape=(None, ROWS, COLUMNS), **filters
                )
                made.attrs["image_nr_low"], made.attrs["image_nr_high"] = first + 1, first + len(part)
            layout[first : first + len(part)] = h5py.VirtualSource(name, "entry/data/data", part.shape)
            if not virtual:
                data[f"data_{number:06}"] = h5py.ExternalLink(name, "/entry/data/data")
        if virtual:
            data.create_virtual_dataset("data", layout)
    return master


@pytest.mark.parametrize("virtual", [False, True], ids=["links", "virtual"])
@pytest.mark.parametrize(
    ("dtype", "packed"),
    [("uint32", "bslz4"), ("int32", "bslz4"), ("uint16", "lz4"), ("uint8", "none"), ("int16", "bslz4")],
)
def test_files_of_others_are_played_bit_by_bit(tmp_path: Path, dtype: str, packed: str, virtual: bool) -> None:
    replay = load_replay(StoredSpec(kind="stored", path=str(write(tmp_path, dtype, packed, virtual=virtual))))
    dataset, expected = replay.dataset, images(dtype)
    assert (dataset.frames, dataset.modules, dataset.width, dataset.height, dataset.pixel) == (
        IMAGES,
        1,
        COLUMNS,
        ROWS,
        dtype,
    )
    for frame in range(IMAGES):
        np.testing.assert_array_equal(dataset.frame(0, frame), expected[frame])


def test_a_part_of_the_images_is_a_module(tmp_path: Path) -> None:
    spec = StoredSpec(
        kind="stored",
        path=str(write(tmp_path, "uint32", "bslz4")),
        width=20,
        height=10,
        places=[(0, 0), (30, 20)],
        frames=7,
    )
    dataset, expected = load_replay(spec).dataset, images("uint32")
    assert (dataset.frames, dataset.modules) == (7, 2)
    np.testing.assert_array_equal(dataset.frame(1, 5), expected[5, 20:30, 30:50])


def test_times_that_others_do_not_say_are_not_made_up(tmp_path: Path) -> None:
    with pytest.raises(_native.NativeError, match="does not say when each frame was taken"):
        load_replay(StoredSpec(kind="stored", path=str(write(tmp_path, "uint32", "bslz4")), speed=1.0))


def test_a_data_file_that_is_missing_is_said(tmp_path: Path) -> None:
    master = write(tmp_path, "uint32", "bslz4")
    (tmp_path / "lysozyme_1_data_000002.h5").unlink()
    with pytest.raises(_native.NativeError, match="data_000002"):
        load_replay(StoredSpec(kind="stored", path=str(master)))
