# SPDX-License-Identifier: Apache-2.0
"""A combined file opens as one run of a group, or as the runs of several buffers."""

from pathlib import Path

import h5py
import numpy as np
import pytest

import rashpa
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.combined.combined import combine
from rashpa.data.stored.joined_run import open_parts
from rashpa.data.stored.reader import open_run
from rashpa.data.stored.stored_images import RawShape, describe
from rashpa.data.stored.stored_piece import Reading, StoredError
from rashpa.testing import stored_run
from rashpa.testing.stored_run import ACCEPTED, PARTIAL, member, pixels


@pytest.fixture
def masters(tmp_path: Path) -> list[Path]:
    return [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]


def test_a_group_opens_as_one_run_in_the_order_of_frames(tmp_path: Path, masters: list[Path]) -> None:
    with rashpa.open(combine({"farm": masters}, tmp_path / "all_master.h5")) as run:
        assert len(run) == 2 * len(ACCEPTED)
        assert run.frame_numbers.tolist() == sorted(run.frame_numbers.tolist())
        for frame, image in run.images():
            np.testing.assert_array_equal(image, pixels(frame // 2))
            np.testing.assert_array_equal(run.at_frame(frame), image)
        assert run.tables.frame_number.tolist() == list(range(2 * stored_run.IMAGES))
        assert run.books["expected"] == 2 * stored_run.IMAGES
        assert run.books["written"] == len(run)
        assert run.absent() == {}
        np.testing.assert_array_equal(np.asarray(run.frames[3:5])[0], run.image(3))
        with pytest.raises(IndexError, match="there is no image"):
            run.image(len(run))


def test_of_two_copies_the_complete_one_is_shown(tmp_path: Path, masters: list[Path]) -> None:
    with h5py.File(masters[1], "r+") as file:
        file["entry/data/frame_number"][ACCEPTED.index(PARTIAL + 1)] = 2 * PARTIAL
        file["entry/rashpa/frame_number"][PARTIAL + 1] = 2 * PARTIAL
    with rashpa.open(combine({"farm": masters}, tmp_path / "all_master.h5")) as run:
        place = run.frame_numbers.tolist().index(2 * PARTIAL)
        np.testing.assert_array_equal(run.image(place), pixels(PARTIAL + 1))
        assert len(run) == 2 * len(ACCEPTED) - 1


def test_several_buffers_are_a_mapping(tmp_path: Path, masters: list[Path]) -> None:
    runs = rashpa.open(combine({"full": masters[:1], "centre": masters[1:]}, tmp_path / "all_master.h5"))
    assert list(runs) == ["full", "centre"]
    np.testing.assert_array_equal(runs["centre"].image(2), pixels(2))
    for run in runs.values():
        run.close()


def test_who_wants_one_run_is_told_what_the_file_is(tmp_path: Path, masters: list[Path]) -> None:
    out = combine({"farm": masters}, tmp_path / "all_master.h5")
    with pytest.raises(StoredRunError, match=r"leads to other files of a run; open it by rashpa\.open"):
        open_run(out)


def test_stored_images_of_a_group_are_read_as_one_recording(tmp_path: Path, masters: list[Path]) -> None:
    out = combine({"farm": masters}, tmp_path / "all_master.h5")
    raw = RawShape(0, 0, "int16")
    assert describe([out], raw).frames == 2 * len(ACCEPTED)
    masters[1].rename(tmp_path / "away.h5")
    with pytest.raises(StoredError, match=r"b/run_master\.h5"):
        describe([out], raw)
    found = describe([out], raw, Reading(allow_missing=True))
    assert (found.frames, len(found.absent.images)) == (2 * len(ACCEPTED), len(ACCEPTED))


def test_several_buffers_are_no_one_recording(tmp_path: Path, masters: list[Path]) -> None:
    out = combine({"full": masters[:1], "centre": masters[1:]}, tmp_path / "all_master.h5")
    with pytest.raises(StoredError, match=r"several buffers: full \(run_master\.h5\), centre"):
        describe([out], RawShape(0, 0, "int16"))


def test_a_member_that_was_left_out_is_missed(tmp_path: Path, masters: list[Path]) -> None:
    with h5py.File(masters[1], "r+") as file:
        del file["entry/rashpa/books"]
    out = combine({"farm": masters}, tmp_path / "all_master.h5", go_on=True)
    with pytest.raises(StoredRunError, match=r"lacks the images of b/run_master\.h5: .*receiver ended"):
        open_parts(out, whole=True)
    raw = RawShape(0, 0, "int16")
    with pytest.raises(StoredError, match="lacks the images of"):
        describe([out], raw)
    assert describe([out], raw, Reading(allow_missing=True)).frames == len(ACCEPTED)
