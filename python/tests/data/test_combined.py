# SPDX-License-Identifier: Apache-2.0
import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from rashpa.data.parts.older_files import leaders_of
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.combined.combined import combine, masters_of, names_in, parts_of, remake
from rashpa.data.stored.combined.combined_member import STATES
from rashpa.testing import stored_run
from rashpa.testing.stored_run import ACCEPTED, member, pixels


def change(master: Path, place: str, value: object) -> None:
    with h5py.File(master, "r+") as file:
        del file[place]
        file[place] = value


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
    with pytest.raises(StoredRunError, match="exists, and is no combined master"):
        combine({"a": [master]}, other)


def test_images_of_another_shape_do_not_become_one(tmp_path: Path) -> None:
    masters = [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]
    with h5py.File(masters[1], "r+") as file:
        del file["entry/data/data"]
        file["entry/data/data"] = np.zeros((len(ACCEPTED), 3, 4), np.int16)
    with pytest.raises(StoredRunError, match="another shape or type"):
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


def test_a_frame_that_two_masters_have_is_there_once_in_its_best_copy(tmp_path: Path) -> None:
    masters = [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]
    partial = 2 * stored_run.PARTIAL
    with h5py.File(masters[1], "r+") as file:
        place = ACCEPTED.index(stored_run.PARTIAL + 1)
        file["entry/data/frame_number"][place] = partial  # which is complete there
        file["entry/rashpa/frame_number"][stored_run.PARTIAL + 1] = partial
    out = combine({"farm": masters}, tmp_path / "all_master.h5")
    with h5py.File(out, "r") as file:
        frames = file["farm/data/frame_number"][()].tolist()
        assert frames == sorted(set(frames))
        assert len(frames) == 2 * len(ACCEPTED) - 1
        image = file["farm/data/data"][frames.index(partial)]
        np.testing.assert_array_equal(image, pixels(stored_run.PARTIAL + 1))
        copies = file["farm/rashpa/copies"]
        assert [copies[name][()].tolist() for name in ("frame_number", "master", "partial")] == [[partial], [1], [1]]
        specific = file["farm/instrument/detector/detectorSpecific"]
        assert specific["nimages"][()] == 2 * stored_run.IMAGES - 1
        assert specific["nimages_written"][()] == len(frames)


def test_what_is_spanned_or_summed_is_so_whatever_the_order(tmp_path: Path) -> None:
    masters = [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]
    with h5py.File(masters[1], "r+") as file:
        file["entry/instrument/detector/pixel_mask"][3, 3] = 4
    for order in (masters, masters[::-1]):
        out = combine({"farm": order}, tmp_path / "all_master.h5")
        with h5py.File(out, "r") as file:
            entry = file["farm"]
            assert entry["start_time"][()] == b"2026-01-01T00:00:00.000Z"
            assert entry["end_time"][()] == b"2026-01-01T00:01:01.000Z"
            assert entry["instrument/detector/detectorSpecific/nimages"][()] == 2 * stored_run.IMAGES
            assert entry["instrument/detector/pixel_mask"][3, 3] == 4
            assert entry["instrument/detector/pixel_mask"][3, 10] == 2
            assert file["entry/instrument/detector/beam_center_y"][()] == 20.25


def test_masters_of_different_runs_and_the_same_one_twice_are_refused(tmp_path: Path) -> None:
    master, other = member(tmp_path / "a", 0), member(tmp_path / "b", 1, run="two")
    with pytest.raises(StoredRunError, match="is of another run"):
        parts_of([master, other])
    with pytest.raises(StoredRunError, match="is of another run"):
        combine({"a": [master], "b": [other]}, tmp_path / "all_master.h5")
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    for again in (master, tmp_path / "copy" / master.name):
        with pytest.raises(StoredRunError, match="is the same as"):
            parts_of([master, again])


def test_what_says_something_else_of_the_experiment_has_an_entry_of_its_own(tmp_path: Path) -> None:
    masters = [member(tmp_path / name, number) for number, name in enumerate("abc")]
    change(masters[2], "entry/instrument/detector/beam_center_y", -11.75)
    masters[2] = masters[2].rename(masters[2].with_name("bottom_master.h5"))
    assert parts_of(masters) == {"run": masters[:2], "bottom": masters[2:]}
    with pytest.raises(StoredRunError, match="beam_center_y"):
        combine({"all": masters}, tmp_path / "all_master.h5")


FIELDS: dict[str, tuple[object, object]] = {
    "instrument/beam/incident_wavelength": (1.0, 0.5),
    "instrument/detector/distance": (0.1, 0.2),
    "instrument/detector/x_pixel_size": (75e-6, 172e-6),
    "instrument/detector/count_time": (1e-3, 2e-3),
    "instrument/detector/saturation_value": (65534, 1000),
    "instrument/detector/sensor_material": ("Si", "CdTe"),
    "instrument/detector/flatfield": (np.ones((90, 90)), np.eye(90)),
    "sample/name": ("one", "two"),
    "source/name": ("here", "there"),
}
AXES = {"offset": ([0.0, 0.0, 0.0], [0.0, 0.1, 0.0]), "vector": ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])}


def put_where(master: Path, place: str, value: object, **attributes: object) -> None:
    with h5py.File(master, "r+") as file:
        if f"entry/{place}" in file:
            del file[f"entry/{place}"]
        file[f"entry/{place}"] = value
        file[f"entry/{place}"].attrs.update(attributes)


@pytest.mark.parametrize("place", FIELDS)
def test_one_field_that_differs_makes_an_entry_of_its_own(tmp_path: Path, place: str) -> None:
    masters = [member(tmp_path / name, number) for number, name in enumerate("abc")]
    for master, value in zip(masters, (*FIELDS[place][:1] * 2, FIELDS[place][1]), strict=True):
        put_where(master, place, value)
    assert sorted(map(len, parts_of(masters).values())) == [1, 2]
    with pytest.raises(StoredRunError, match=place.rpartition("/")[2]):
        combine({"all": masters}, tmp_path / "all_master.h5")


@pytest.mark.parametrize("name", [*AXES, "units"])
def test_axes_that_lie_elsewhere_make_an_entry_of_their_own(tmp_path: Path, name: str) -> None:
    masters = [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]
    same, other = AXES.get(name, ("m", "mm"))
    for master, value in zip(masters, (same, other), strict=True):
        put_where(master, "instrument/detector/m0/module_offset", 0.0, **{name: value})
    with pytest.raises(StoredRunError, match=f"m0/module_offset@{name}"):
        combine({"all": masters}, tmp_path / "all_master.h5")
    put_where(masters[1], "instrument/detector/m0/module_offset", 0.0, **{name: same})
    combine({"all": masters}, tmp_path / "all_master.h5")


@pytest.mark.parametrize(
    ("times", "first", "last"),
    [
        (("2026-01-01T10:00:00+02:00", "2026-01-01T09:00:00Z"), 0, 1),
        (("2026-01-01T10:00:00Z", "2026-01-01T10:00:00.5Z"), 0, 1),
        (("2026-01-01T00:30:00-05:00", "2026-01-01T01:00:00+00:00"), 1, 0),
        (("2026-01-01T10:00:00", "2026-01-01T10:00:01Z"), 0, 1),
    ],
)
def test_the_earliest_and_the_latest_are_so_whatever_their_zones(
    tmp_path: Path, times: tuple[str, str], first: int, last: int
) -> None:
    masters = [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]
    for master, time in zip(masters, times, strict=True):
        for name in ("start_time", "end_time"):
            put_where(master, name, time)
    with h5py.File(combine({"farm": masters}, tmp_path / "all_master.h5")) as file:
        assert file["farm/start_time"][()].decode() == times[first]
        assert file["farm/end_time"][()].decode() == times[last]


def test_a_leading_file_shows_no_run_but_its_own(tmp_path: Path) -> None:
    masters = [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]
    out = combine({"farm": masters}, tmp_path / "all_master.h5")
    shutil.rmtree(tmp_path / "b")
    assert masters_of(out) == masters  # that it is gone, its readers say
    member(tmp_path / "b", 1, run="two")
    with pytest.raises(
        StoredRunError, match=r"all_master\.h5: it was made for another run than the one of which .*/b/"
    ):
        masters_of(out)


def test_a_master_that_is_not_complete_is_left_out_by_name_until_it_is(tmp_path: Path) -> None:
    masters = [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]
    whole = masters[1].read_bytes()
    with h5py.File(masters[1], "r+") as file:
        del file["entry/rashpa/books"]
    with pytest.raises(StoredRunError, match="receiver ended"):
        combine({"farm": masters}, tmp_path / "all_master.h5")
    out = combine({"farm": masters}, tmp_path / "all_master.h5", go_on=True)
    assert masters_of(out) == masters[:1]
    assert names_in(out) == ["a/run_master.h5", "b/run_master.h5"]
    with h5py.File(out) as file:
        said = json.loads(file.attrs["rashpa_parts"])["farm"]
        assert "receiver ended" in said[1]["left_out"]
    masters[1].write_bytes(whole)
    assert remake(out) == out
    assert masters_of(out) == masters
    assert remake(out) is None


def test_programs_that_look_for_entries_find_each_once(tmp_path: Path) -> None:
    masters = [member(tmp_path / "a", 0), member(tmp_path / "b", 1)]
    for parts, count in (({"farm": masters}, 1), ({"full": masters[:1], "centre": masters[1:]}, 2)):
        out = combine(parts, tmp_path / "all_master.h5")
        with h5py.File(out) as file:
            entries = [one for one in file.values() if one.attrs.get("NX_class") == "NXentry"]
            assert len(entries) == count
            name = file.attrs["default"]
            np.testing.assert_array_equal(file["entry/data/data"][0], file[name]["data/data"][0])
            assert "NX_class" not in file["entry"].attrs


def test_who_replaces_files_takes_away_what_leads_to_them(tmp_path: Path) -> None:
    made = member(tmp_path / "a", 0)
    master = made.rename(made.with_name("x_one_b_master.h5"))
    leading = [master.with_name("x_one_master.h5"), master.with_name("x_master.h5")]
    for out in leading:
        combine({"a": [master]}, out)
    other = member(tmp_path / "b", 1)
    combine({"b": [other]}, master.with_name("y_master.h5"))
    beside = [master.with_name("x_one_b_peaks.cxi"), master.with_name("x_one_b_frames.h5")]
    for path in beside:
        path.touch()
    assert leaders_of(master.with_name("x_one_b")) == [*beside, *leading]
    assert leaders_of(master.with_name("x_one_c")) == []
    assert leaders_of(master.with_name("y_b")) == []
