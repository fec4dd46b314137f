# SPDX-License-Identifier: Apache-2.0
"""Places of pixels: those in a plan, compared with the test's own matrices."""

import random
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.control.orders.plan_telegrams import metadata_of
from rashpa.control.plan.image_places import module_entries
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.plan.run_plan import load_plan
from rashpa.testing.random_geometry import PITCH, WAYS, Panel, direction, one_geometry, text_of
from rashpa.testing.run_file import Table, run_file


def run_text(detector: Table | None, buffer: Table | None) -> str:
    return run_file(
        run={"name": "lie", "frames": 2},
        detector={"width": 60, "height": 40, "geometry": "det.geom", **(detector or {})},
        dataset={"modules": 4},
        buffer=buffer or {},
        receiver=None,
    )


def plan_of(folder: Path, panels: list[Panel], detector: Table | None = None, buffer: Table | None = None) -> Plan:
    (folder / "det.geom").write_text(text_of(panels))
    (folder / "run.toml").write_text(run_text(detector=detector, buffer=buffer))
    return load_plan(folder / "run.toml")


def said_places(plan: Plan, buffer: PlannedBuffer) -> NDArray[np.float64]:
    """Return the place of each pixel of the image in pixels, from the facts for files; NaN where there is none."""
    found = np.full((buffer.height, buffer.width, 3), np.nan)
    for entry in module_entries(plan, buffer):
        x, y, width, height = (int(str(entry[key])) for key in ("x", "y", "width", "height"))
        corner, fast, slow = (
            np.array([float(one) for one in str(entry[key]).split()]) for key in ("corner", "fast", "slow")
        )
        row, column = np.mgrid[:height, :width] + 0.5
        part = found[y : y + height, x : x + width]
        assert np.isnan(part).all()
        part[...] = (corner + column[..., None] * fast + row[..., None] * slow) / PITCH
    return found


def expected_places(buffer: PlannedBuffer, panels: list[Panel]) -> NDArray[np.float64]:
    """Return the same from the places where the emulator puts pixels; frames are rotated by NumPy."""
    found = np.full((buffer.height, buffer.width, 3), np.nan)
    for dtp in buffer.dtps:
        turned = np.rot90(panels[dtp.module].places(), -dtp.orientation.turn // 90)
        if dtp.orientation.flip:
            turned = turned[:, ::-1]
        region = dtp.region
        part = turned[region.y : region.y + region.height, region.x : region.x + region.width]
        found[dtp.y : dtp.y + region.height, dtp.x : dtp.x + region.width] = part
    return found


def worst(plan: Plan, panels: list[Panel]) -> float:
    (buffer,) = plan.buffers
    said, expected = said_places(plan, buffer), expected_places(buffer, panels)
    assert (np.isnan(said) == np.isnan(expected)).all()
    return float(np.nanmax(np.abs(said - expected)))


@pytest.mark.parametrize("number", range(64))
def test_every_pixel_lies_where_the_geometry_says(tmp_path: Path, number: int) -> None:
    random_ = random.Random(number)
    panels = one_geometry(random_, WAYS[number % 8], small_turns=number >= 32)
    assert worst(plan_of(tmp_path, panels), panels) < 1e-6


def test_parts_and_bands_of_an_image_lie_where_they_did(tmp_path: Path) -> None:
    panels = one_geometry(random.Random(7), ("+y", "-x"), small_turns=True)
    assert worst(plan_of(tmp_path, panels, buffer={"region": [20, 10, 70, 90], "bands": 2}), panels) < 1e-6
    by_hand = {
        "dtp": [
            {"module": 2, "region": [3, 4, 20, 30], "place": [50, 0]},
            {"module": 2, "region": [0, 0, 20, 30], "place": [0, 0]},
        ]
    }
    plan = plan_of(tmp_path, panels, buffer=by_hand)
    assert worst(plan, panels) < 1e-6
    assert [entry["name"] for entry in module_entries(plan, plan.buffers[0])] == ["m2_0", "m2_1"]


@pytest.mark.parametrize("way", WAYS)
def test_the_image_lies_as_the_run_file_asks(tmp_path: Path, way: tuple[str, str]) -> None:
    panels = one_geometry(random.Random(3), ("+x", "+y"), small_turns=False)
    plan = plan_of(tmp_path, panels, {"image_fast": way[0], "image_slow": way[1]})
    assert worst(plan, panels) < 1e-6
    for entry in module_entries(plan, plan.buffers[0]):
        for key, text in (("fast", way[0]), ("slow", way[1])):
            step = np.array([float(one) for one in str(entry[key]).split()])
            assert step == pytest.approx(direction(text) * PITCH)


def test_a_beam_of_the_run_file_moves_all_places(tmp_path: Path) -> None:
    panels = one_geometry(random.Random(5), ("-y", "-x"), small_turns=False)
    before = plan_of(tmp_path, panels)
    metadata = metadata_of(before, before.buffers[0])
    x, y = float(str(metadata["beam_center_x"])), float(str(metadata["beam_center_y"]))
    moved = plan_of(tmp_path, panels, {"beam_center_x": x + 3, "beam_center_y": y - 2})
    shift = said_places(moved, moved.buffers[0]) - said_places(before, before.buffers[0])
    expected = -(3 * direction("-y") - 2 * direction("-x"))
    assert np.nanmax(np.abs(shift - expected)) < 1e-6


def test_the_beam_is_where_x_and_y_are_nought(tmp_path: Path) -> None:
    panels = one_geometry(random.Random(9), ("-y", "+x"), small_turns=False)
    plan = (
        plan_of(tmp_path, panels, buffer={"dtp": [{"module": 1, "region": [0, 0, 60, 40], "place": [0, 0]}]})
        if _upright(panels)
        else None
    )
    assert plan is not None
    metadata = metadata_of(plan, plan.buffers[0])
    panel = panels[1]
    beam = (
        panel.corner
        + float(str(metadata["beam_center_x"])) * panel.fast
        + float(str(metadata["beam_center_y"])) * panel.slow
    )
    assert beam[:2] == pytest.approx([0, 0], abs=1e-6)


def _upright(panels: list[Panel]) -> bool:
    return bool(panels[1].fast[1] == -1)


def test_columns_and_rows_along_one_axis_are_refused(tmp_path: Path) -> None:
    from rashpa.control.runfile.run_file_reader import RunFileError

    panels = one_geometry(random.Random(1), ("+x", "+y"), small_turns=False)
    with pytest.raises(
        RunFileError, match=r"run\.toml:8: detector\.image_fast: columns run along \+y and rows along -y"
    ):
        plan_of(tmp_path, panels, {"image_fast": "+y"})
