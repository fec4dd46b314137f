# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import h5py
import numpy as np
import pytest

from rashpa.data.combined import STATES, combine, masters_of
from rashpa.data.run_parts import RunFileError
from rashpa.testing import stored_run
from rashpa.testing.stored_run import ACCEPTED, pixels


def member(folder: Path, first: int) -> Path:
    """A run of which every second image, from `first` on, is one of this member's: its frame numbers are 2 n + first."""
    folder.mkdir()
    master = stored_run.make_run(folder)
    with h5py.File(master, "r+") as file:
        file["entry/data/frame_number"][...] = 2 * np.array(ACCEPTED, np.uint64) + first
    return master


def test_images_of_members_are_one_dataset_in_the_order_of_their_frames(tmp_path: Path) -> None:
    masters = [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]
    out = combine({"farm": masters}, tmp_path / "all_master.h5")
    with h5py.File(out, "r") as file:
        frames = file["farm/data/frame_number"][()]
        assert frames.tolist() == sorted([2 * n for n in ACCEPTED] + [2 * n + 1 for n in ACCEPTED])
        images = file["farm/data/data"]
        assert images.shape == (2 * len(ACCEPTED), stored_run.ROWS, stored_run.COLUMNS)
        for place, frame in enumerate(frames.tolist()):
            np.testing.assert_array_equal(images[place], pixels(frame // 2))
        assert file["farm/instrument/detector/description"][()] == b"JUNGFRAU (emulated)"
        assert file["farm/definition"][()] == b"NXmx"
    assert [path.resolve() for path in masters_of(out)] == masters


def test_buffers_have_an_entry_each_and_folders_may_be_moved_together(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    masters = [member(site / "a", 0), member(site / "b", 1)]
    combine({"full": masters[:1], "centre": masters[1:]}, site / "all_master.h5")
    moved = site.rename(tmp_path / "moved")
    with h5py.File(moved / "all_master.h5", "r") as file:
        assert file.attrs["default"] == "full"
        np.testing.assert_array_equal(file["centre/data/data"][2], pixels(2))


def test_another_file_of_this_name_is_not_replaced_but_a_combined_one_is(tmp_path: Path) -> None:
    master, other = member(tmp_path / "a", 0), member(tmp_path / "b", 1)
    out = tmp_path / "all_master.h5"
    combine({"a": [master]}, out)
    combine({"b": [other]}, out)
    assert masters_of(out) == [out.parent / "b" / other.name]
    with pytest.raises(RunFileError, match="exists, and is no combined master"):
        combine({"a": [master]}, other)


def test_images_of_another_shape_do_not_become_one(tmp_path: Path) -> None:
    masters = [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]
    with h5py.File(masters[1], "r+") as file:
        del file["entry/data/data"]
        file["entry/data/data"] = np.zeros((len(ACCEPTED), 3, 4), np.int16)
    with pytest.raises(RunFileError, match="another shape or type"):
        combine({"farm": masters}, tmp_path / "all_master.h5")
    assert not list(tmp_path.glob("*all_master*")), "nothing is left"


def test_images_that_are_gone_are_no_measurement_and_an_entry_leads_to_the_first_part(tmp_path: Path) -> None:
    masters = [member(tmp_path / "a%", 0), member(tmp_path / "b", 1)]
    (tmp_path / "b" / "run_data_000001.h5").unlink()
    out = combine({"farm": masters}, tmp_path / "all_master.h5")
    masters[0].unlink()
    with h5py.File(out, "r") as file:
        data = file["entry/data"]
        assert (data["data"][0] == np.iinfo(np.int16).min).all()
        gone = data["state"][()] == STATES.index("data_file_gone")
        assert (data["frame_number"][()][gone] % 2 == 1).all()
        assert gone.sum() == stored_run.PER_FILE
