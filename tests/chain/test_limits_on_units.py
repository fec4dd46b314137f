# SPDX-License-Identifier: Apache-2.0
"""Tests limits of vetoes that `rashpa limits` changes on device units: the new limits begin at the same stacks, and every decision agrees with unit
cpu."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
pytest.importorskip("pyFAI")

import rashpa
from rashpa.control.run.run_session import RunSession, plan_with
from rashpa.data.kernels.pipeline import available_units
from rashpa.sim import pattern_frame
from rashpa.testing.waiting import GUARD_S

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
ACCEPTED, VETOED = 1, 2
WIDTH, HEIGHT, DIFFERENT, STACK, BRIGHT = 64, 32, 7, 5, 60000
ROUND = 4 * STACK  # frames of a trigger
PONI = """\
poni_version: 2.1
Detector: Detector
Detector_config: {"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [32, 64]}
Distance: 0.1
Poni1: 0.0016
Poni2: 0.0032
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1e-10
"""


def _pixels(frame: int) -> "np.ndarray[Any, Any]":
    return pattern_frame("uint16", 0, frame % DIFFERENT, HEIGHT, WIDTH).astype(np.int64)


def _means() -> list[float]:
    """Return the means of all different frames, in order of size."""
    return sorted(float(_pixels(frame).mean()) for frame in range(DIFFERENT))


def _settings(folder: Path, unit: str) -> dict[str, Any]:
    poni = folder / "there.poni"
    poni.write_text(PONI)
    ring = {"name": "azimuthal", "poni": str(poni), "bins": 10, "solid_angle": False}
    count = {"name": "bragg_count", "threshold": BRIGHT, "min_pixels": 165}
    rule = {"name": "veto", "keep": "bright_pixels < 190", "reason": "too_bright"}
    return {
        "run": {"name": "limited", "frames": "until stopped", "output": str(folder)},
        "detector": {
            "width": WIDTH,
            "height": HEIGHT,
            "pixel": "uint16",
            "rate_hz": 500.0,
            "trigger": "software",
        },
        "dataset": {"kind": "pattern", "width": WIDTH, "height": HEIGHT, "frames": DIFFERENT},
        "link": {"port": 0, "memory": "pageable"},
        "buffer": [
            {
                "name": "b",
                "slots": 2 * ROUND,
                "stack": STACK,
                "deadline_ms": 60_000,
                "unit": unit,
                "kernel": [ring, count, rule],
                "sink": [{"kind": "hdf5"}],
            }
        ],
    }


def _limits(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [*COMMAND, "limits", str(folder), *words], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _play(folder: Path, unit: str, orders: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    """Carry out a run with one order after each trigger's frames, and return the tables of the file."""
    folder.mkdir()
    session = RunSession(plan_with(_settings(folder, unit), {}))
    session.start().result(GUARD_S)
    try:
        for number in range(len(orders) + 1):
            session.trigger(ROUND).result(GUARD_S)
            images = (number + 1) * ROUND
            session.settled("b", images, GUARD_S).result(2 * GUARD_S)
            if number < len(orders):
                assert f"from image {images} on" in _limits(folder, *orders[number])
    finally:
        outcome = session.stop().result(GUARD_S)
    assert outcome.good, (outcome.problem, outcome.reasons)
    with h5py.File(folder / "limited_b_master.h5") as file:
        rows, limits = file["/entry/rashpa"], file["/entry/rashpa/limits"]
        tables = {name: rows[name][:] for name in ("frame_number", "decision", "veto_reason") if name in rows}
        tables["images"] = file["/entry/data/data"][:]
        tables |= {name: limits[name][:].tolist() for name in ("kernel", "step", "key", "old", "new", "first_image")}
    with rashpa.open(folder / "limited_b_master.h5") as run:
        tables["changed"] = [(one.step, one.key, one.old, one.new, one.first_image) for one in run.changed_limits]
    return tables


def _expected(changes: list[tuple[int, str, Any]], frames: "np.ndarray[Any, Any]") -> list[int]:
    now: dict[str, Any] = {"min_intensity": 0.0, "min_pixels": 165, "keep": 190}
    decisions = []
    for image, frame in enumerate(frames):
        now |= {key: value for first, key, value in changes if first == image}
        pixels = _pixels(int(frame))
        bright = int((pixels >= BRIGHT).sum())
        kept = pixels.mean() >= now["min_intensity"] and now["min_pixels"] <= bright < now["keep"]
        decisions.append(ACCEPTED if kept else VETOED)
    return decisions


def test_the_same_orders_make_the_same_decisions_as_on_processors(tmp_path: Path) -> None:
    if not available_units()["opencl"][0]:
        pytest.skip("there is no unit opencl here")
    means = _means()
    least = round((means[2] + means[3]) / 2, 6)
    orders = [
        ("bragg_count", "min_pixels=175"),
        ("azimuthal", f"min_intensity={least}"),
        ("too_bright", "keep=bright_pixels < 185"),
        ("azimuthal", "min_intensity=0"),
    ]
    changes = [
        (ROUND, "min_pixels", 175),
        (2 * ROUND, "min_intensity", least),
        (3 * ROUND, "keep", 185),
        (4 * ROUND, "min_intensity", 0.0),
    ]
    played = {unit: _play(tmp_path / unit, unit, orders) for unit in ("cpu", "opencl")}
    truth, found = played["cpu"], played["opencl"]
    assert truth["first_image"] == [first for first, _, _ in changes]
    assert json.loads(truth["new"][1]) == least
    expected = _expected(changes, truth["frame_number"])
    assert truth["decision"].tolist() == expected
    assert len({tuple(expected[at : at + ROUND]) for at in range(0, len(expected), ROUND)}) > 1
    for name in truth:
        np.testing.assert_array_equal(found[name], truth[name], err_msg=name)
