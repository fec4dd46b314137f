# SPDX-License-Identifier: Apache-2.0
"""`rashpa check`: a good file has no finding, and each possible fault is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.data.making.nxmx_check import Checked, check_file, picture
from rashpa.testing.foreign_nxmx import COLUMNS, CORNERS, PITCH, ROWS, foreign, put

_DETECTOR = "entry/instrument/detector"


def settle(file: h5py.File) -> None:
    """Add the fields that NXmx requires, and a beam centre that agrees with the axes: columns run to +y, rows to +x."""
    file["entry/definition"] = "NXmx"
    file["entry/source/name"] = "somewhere"
    file["entry/instrument/name"] = "station"
    x, y = CORNERS["a"]
    for axis, value in (("x", -y / PITCH), ("y", -x / PITCH)):
        put(f"{_DETECTOR}/beam_center_{axis}", value)(file)
    second = file[f"{_DETECTOR}/module_b/module_offset"]
    second.attrs["offset"] = [x, y + 32 * PITCH, 0.0]


def checked(folder: Path, *changes: Callable[[h5py.File], None]) -> Checked:
    def change(file: h5py.File) -> None:
        for one in (settle, *changes):
            one(file)

    return check_file(foreign(folder / "f.h5", change))


def test_a_good_file_has_no_finding(tmp_path: Path) -> None:
    found = checked(tmp_path)
    assert found.findings == ()
    assert found.images == 4
    assert found.beam == pytest.approx((0.002 / PITCH, -0.003 / PITCH))


def absent_part(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((4, ROWS, COLUMNS), np.uint16)
    layout[0] = h5py.VirtualSource("gone.h5", "data", (ROWS, COLUMNS))
    del file["entry/data/data"]
    file["entry/data"].create_virtual_dataset("data", layout)


def lost_link(file: h5py.File) -> None:
    del file["entry/data/data"]
    file["entry/data/data_000001"] = h5py.ExternalLink("gone.h5", "/entry/data/data")


def wrong_numbers(file: h5py.File) -> None:
    images = file["entry/data/data"][()]
    del file["entry/data/data"]
    for number, part in enumerate(np.split(images, 2), 1):
        name = f"entry/data/data_{number:06}"
        file[name] = part
        file[name].attrs.update(image_nr_low=1, image_nr_high=2)


_WRONG: list[tuple[str, Callable[[h5py.File], None], str]] = [
    ("mirror", put(f"{_DETECTOR}/module_a/fast_pixel_direction", PITCH, units="m", vector=[0, -1, 0], depends_on=f"/{_DETECTOR}/module_a/module_offset"), "mirror images"),
    ("skew", put(f"{_DETECTOR}/module_a/fast_pixel_direction", PITCH, units="m", vector=[1, 1, 0], depends_on=f"/{_DETECTOR}/module_a/module_offset"), "45.0° apart"),
    ("beam", put(f"{_DETECTOR}/beam_center_x", 40.0), "pixels from where axes put it (11.63, -17.44)"),
    ("overlap", put(f"{_DETECTOR}/module_b/data_origin", [0, 20]), "two modules have the pixel in row 0, column 20"),
    ("outside", put(f"{_DETECTOR}/module_b/data_size", [ROWS, 60]), "does not lie in the image"),
    ("pitch", put(f"{_DETECTOR}/x_pixel_size", 75e-6, units="m"), "steps of fast_pixel_direction are 0.000172 m"),
    ("unit", put(f"{_DETECTOR}/distance", 250.0, units="s"), "which are none of a length"),
    ("unknown unit", put(f"{_DETECTOR}/count_time", 1.0, units="m"), "which are none of a time"),
    ("energy", put("entry/instrument/beam/incident_energy", 12.4, units="keV"), "12.4 keV are 0.99987 Å, and incident_wavelength is 1.37760 Å"),
    ("wavelength", put("entry/instrument/beam/incident_wavelength", 9000.0, units="angstrom"), "is 9000 Å"),
    ("twice", put("entry/data/frame_number", np.array([1, 2, 2, 3], np.uint64)), "1 frames are there more than once (2)"),
    ("tables", put("entry/data/frame_number", np.array([1, 2, 3], np.uint64)), "has 3 entries, and there are 4 images"),
    ("count", put(f"{_DETECTOR}/detectorSpecific/nimages_written", 5), "is 5, and there are 4 images"),
    ("more than due", put(f"{_DETECTOR}/detectorSpecific/nimages", 3), "is 3, and there are 4 images"),
    ("width", put(f"{_DETECTOR}/detectorSpecific/x_pixels_in_detector", 65), "is 65, and images have 64"),
    ("end", put("entry/end_time", "2025-03-01T09:59:00Z"), "is 60 s before start_time"),
    ("time", put("entry/start_time", "yesterday"), "'yesterday' is no time of ISO 8601"),
    ("mask", put(f"{_DETECTOR}/pixel_mask", np.ones((ROWS, COLUMNS), np.uint32)), "masks all pixels"),
    ("mask of others", put(f"{_DETECTOR}/pixel_mask", np.ones((ROWS, 5), np.uint32)), "pixel_mask"),
    ("saturation", put(f"{_DETECTOR}/saturation_value", 70000), "which no pixel of uint16 can be"),
    ("absent", absent_part, "4 of 4 images have no bytes; of image 0"),
    ("lost link", lost_link, "gone.h5"),
    ("numbers", wrong_numbers, "says it has the images 1 … 2, and has 3 … 4"),
    ("no data", lambda file: file.__delitem__("entry/data"), "is not there"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "says"), [one[1:] for one in _WRONG], ids=[one[0] for one in _WRONG])
def test_what_is_wrong_is_named(tmp_path: Path, change: Callable[[h5py.File], None], says: str) -> None:
    found = checked(tmp_path, change)
    assert not found.good
    assert any(says in str(one) and one.level == "wrong" for one in found.findings), [
        str(one) for one in found.findings
    ]


_ODD: list[tuple[Callable[[h5py.File], None], str]] = [
    (lambda file: file.__delitem__("entry/source"), "/entry/source/name: is not there, and NXmx needs it"),
    (put(f"{_DETECTOR}/distance", 0.25), "has no units"),
    (put("entry/start_time", "2025-03-01T09:59:00"), "has no zone"),
    (put(f"{_DETECTOR}/frame_time", 60.0, units="s"), "4 images of 60 s each take longer"),
    (put("entry/data/frame_number", np.array([4, 3, 2, 1], np.uint64)), "frames are not in order"),
    (lambda file: file.__delitem__(f"{_DETECTOR}/pixel_mask"), "no pixel is masked"),
]


@pytest.mark.parametrize(("change", "says"), _ODD)
def test_what_is_odd_is_said_and_nothing_is_wrong(
    tmp_path: Path, change: Callable[[h5py.File], None], says: str
) -> None:
    found = checked(tmp_path, change)
    assert found.good
    assert [str(one) for one in found.findings if says in str(one)], [str(one) for one in found.findings]


def test_the_picture_shows_where_rows_begin_and_end(tmp_path: Path) -> None:
    lines = picture(checked(tmp_path))
    # columns run up (+y) and rows to the left (+x): the first row of both modules is the rightmost line, from below
    assert lines[-1].rstrip()[-1] == "o" or any(line.endswith("o") for line in lines)
    first = [line for line in lines if line.endswith("o")]
    end = [line for line in lines if line.endswith(">")]
    assert lines.index(first[-1]) > lines.index(end[0])


def ran(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["check", *arguments])


def test_the_command_ends_with_what_it_found(tmp_path: Path) -> None:
    good = foreign(tmp_path / "good.h5", settle)
    assert ran(str(good)).exit_code == 0
    bad = ran(str(foreign(tmp_path / "bad.h5")), "--json")
    assert bad.exit_code == 3
    document = json.loads(bad.stdout)
    assert any(one["level"] == "wrong" for one in document["findings"])
    (tmp_path / "none.h5").write_bytes(b"no")
    assert ran(str(tmp_path / "none.h5")).exit_code == 2
    assert ran(str(tmp_path / "absent.h5")).exit_code == 2


@pytest.mark.parametrize("number", range(6))
def test_bytes_that_are_changed_at_random_end_in_a_word(tmp_path: Path, number: int) -> None:
    path = foreign(tmp_path / "f.h5", settle)
    generator = np.random.default_rng(number)
    content = bytearray(path.read_bytes())
    for at in generator.integers(0, min(len(content), 16384), 8):
        content[at] = generator.integers(0, 256)
    path.write_bytes(content)
    assert ran(str(path)).exit_code in (0, 2, 3)  # HDF5 itself may crash on it, in the process that reads


def test_pixels_whose_size_nobody_knows_are_odd_and_not_wrong(tmp_path: Path) -> None:
    found = checked(tmp_path, put(f"{_DETECTOR}/x_pixel_size", np.nan, units="m"))
    assert found.good
    assert any("nobody knows how large pixels are" in one.text for one in found.findings)


def test_a_distance_that_nobody_knows_leaves_places_across_the_beam(tmp_path: Path) -> None:
    def unknown(file: h5py.File) -> None:
        file[f"{_DETECTOR}/distance"][()] = np.nan
        file[f"{_DETECTOR}/transformations/distance"][()] = np.nan

    found = checked(tmp_path, unknown)
    assert found.good
    assert len(found.modules) == 2
    assert any("nobody knows how far the detector is" in one.text for one in found.findings)


def test_rows_that_are_not_as_far_apart_as_pixels_are_high_are_wrong(tmp_path: Path) -> None:
    found = checked(tmp_path, put(f"{_DETECTOR}/y_pixel_size", 0.1, units="mm"))
    assert any(one.level == "wrong" and "slow_pixel_direction" in one.text for one in found.findings)
