# SPDX-License-Identifier: Apache-2.0
"""Distances of pixels from the beam: those that kernels and the page get for 64 random geometries, compared with the test's own matrices."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.control.orders.plan_telegrams import destination_telegram
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.plan.run_plan import load_plan
from rashpa.dashboard.rings import beam_of
from rashpa.data.geometry.given import Image, given_arrays
from rashpa.testing.random_geometry import HEIGHT, WAYS, WIDTH, Panel, one_geometry, text_of
from rashpa.testing.run_file import run_file

_RUN = run_file(
    run={"name": "rings", "frames": 2},
    detector={"width": 60, "height": 40, "geometry": "det.geom"},
    dataset={"modules": 4},
    buffer=[
        {"name": "full", "kernel": [{"name": "peakfinder8"}], "sink": [{"kind": "null"}]},
        {"name": "part", "region": [20, 10, 70, 90], "kernel": [{"name": "sparsify"}], "sink": [{"kind": "null"}]},
        {"name": "peaks", "kernel": [{"name": "peakfinder"}], "sink": [{"kind": "null"}]},
    ],
    receiver=None,
)


def in_whole_pixels(panels: list[Panel]) -> list[Panel]:
    """Return the same detector with distances of whole pixels between modules, so that the assembled image has every pixel at its exact place."""
    first = panels[0].corner
    away = np.array([1.0, 1.0, 0.0])
    return [replace(one, corner=np.rint((one.corner - first) * away) + first * away) for one in panels]


def distances(buffer: PlannedBuffer, panels: list[Panel]) -> NDArray[np.float64]:
    """Return the distance of every pixel of the buffer's image, from the places where the emulator puts pixels; NaN in gaps."""
    found = np.full((buffer.height, buffer.width), np.nan)
    for dtp in buffer.dtps:
        turned = np.rot90(panels[dtp.module].places(), -dtp.orientation.turn // 90)
        if dtp.orientation.flip:
            turned = turned[:, ::-1]
        region = dtp.region
        part = turned[region.y : region.y + region.height, region.x : region.x + region.width]
        found[dtp.y : dtp.y + region.height, dtp.x : dtp.x + region.width] = np.hypot(part[..., 0], part[..., 1])
    return found


def of_beam(buffer: PlannedBuffer, x: float, y: float) -> NDArray[np.float64]:
    row, column = np.mgrid[: buffer.height, : buffer.width] + 0.5
    found: NDArray[np.float64] = np.hypot(column - x, row - y)
    return found


def kernel_beam(plan: Plan, number: int) -> tuple[float, float]:
    """Return the beam as the receiver gets it."""
    order = destination_telegram(plan, plan.receivers[0]).destination
    assert order is not None
    kernel = order.buffers[number].kernels[0]
    return float(kernel.beam_x), float(kernel.beam_y)  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", range(64))
def test_beams_of_kernels_and_of_the_page_have_every_pixel_as_far_as_it_is(tmp_path: Path, number: int) -> None:
    panels = in_whole_pixels(one_geometry(random.Random(number), WAYS[number % 8], small_turns=False))
    (tmp_path / "det.geom").write_text(text_of(panels))
    (tmp_path / "run.toml").write_text(_RUN)
    plan = load_plan(tmp_path / "run.toml")
    for position, buffer in enumerate(plan.buffers):
        wanted = distances(buffer, panels)
        page = beam_of(plan, buffer.section.name, (buffer.width, buffer.height))
        assert page is not None
        for x, y in (kernel_beam(plan, position), (page.x, page.y)):
            assert np.nanmax(np.abs(of_beam(buffer, x, y) - wanted)) < 0.01


@pytest.mark.parametrize("kernel", ["peakfinder8", "peakfinder", "sparsify"])
@pytest.mark.parametrize("number", range(0, 64, 4))
def test_kernels_with_the_geometry_have_every_pixel_as_far_as_it_is(tmp_path: Path, number: int, kernel: str) -> None:
    panels = one_geometry(random.Random(number), WAYS[number % 8], small_turns=True)
    path = tmp_path / "det.geom"
    path.write_text(text_of(panels))
    found = given_arrays(kernel, {"geometry": str(path)}, Image(4 * HEIGHT, WIDTH))["radius"]
    wanted = np.concatenate([np.hypot(*np.moveaxis(panel.places()[..., :2], -1, 0)) for panel in panels])
    assert np.abs(found - wanted).max() < 0.01
