# SPDX-License-Identifier: Apache-2.0
"""A row for every frame, stored or not."""

from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (reads the images)
import numpy as np
import pytest

from rashpa.data.making.frames_file import frames_path, write_frames_file
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.stored_piece import no_value
from rashpa.testing.stored_run import ACCEPTED, COLUMNS, IMAGES, ROWS, make_run, pixels


def test_images_stand_at_their_frames_and_others_have_no_value(tmp_path: Path) -> None:
    path = write_frames_file(make_run(tmp_path))
    assert path == frames_path(tmp_path / "run_master.h5") == tmp_path / "run_frames.h5"
    moved = tmp_path.rename(tmp_path.with_name("moved")) / path.name  # with all its files
    with h5py.File(moved) as file:
        data = file["entry/data"]
        assert data["data"].shape == (IMAGES, ROWS, COLUMNS)
        assert data["frame_number"][()].tolist() == list(range(IMAGES))
        assert np.flatnonzero(data["stored_index"][()] >= 0).tolist() == list(ACCEPTED)
        for frame in range(IMAGES):
            image = data["data"][frame]
            if frame in ACCEPTED:
                np.testing.assert_array_equal(image, pixels(frame))
            else:
                assert (image == np.iinfo(np.int16).min).all()
        assert file["entry/master/definition"][()] == b"NXmx"


def test_a_run_of_which_nothing_is_stored_has_rows_too(tmp_path: Path) -> None:
    master = make_run(tmp_path)
    with h5py.File(master, "r+") as file:
        file["entry/rashpa/stored_index"][...] = -1
    with h5py.File(write_frames_file(master)) as file:
        assert (file["entry/data/data"][()] == np.iinfo(np.int16).min).all()


def test_lists_have_no_rows_for_frames(tmp_path: Path) -> None:
    with pytest.raises(StoredRunError, match="no dense images"):
        write_frames_file(make_run(tmp_path, sparse=True))
    assert not list(tmp_path.glob("*frames*"))


def test_what_has_no_value_depends_on_the_type() -> None:
    assert no_value(np.dtype("uint16")) == 65535
    assert no_value(np.dtype("int32")) == -(2**31)
    assert np.isnan(no_value(np.dtype("float32")))
