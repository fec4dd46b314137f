# SPDX-License-Identifier: Apache-2.0
"""Tests whole acquisitions that are too fast for a slow disk: every write into a file takes 15 ms longer."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import pytest
from tests.chain.test_nodes import COMMAND
from tests.chaos.disturb import compiled_shim

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

RUN = """\
[run]
name = "fast"
frames = {frames}
output = "{out}"
on_overrun = "{policy}"
[detector]
width = 64
height = 32
rate_hz = 400.0
[dataset]
kind = "pattern"
width = 64
height = 32
[link]
{link}
{receivers}
[[buffer]]
name = "full"
bands = 2
slots = 20
stack = 5
[[buffer.sink]]
kind = "hdf5"
images_per_file = 1000
"""


WRITE_US = 8000  # each write takes; an image has one at least
FITS_HZ = 1e6 / WRITE_US  # of images, at most
ONLY = "[receiver]\nport = 0\n"
FARM = """\
[[receiver]]
name = "a"
port = 0
[[receiver]]
name = "b"
port = 0
[[group]]
name = "farm"
receivers = ["a", "b"]
"""


def run(
    folder: Path, policy: str, link: str, frames: int | str = 800, receivers: str = ONLY
) -> tuple[int, dict[str, Any], str]:
    """Carry out a run; return exit code, report and output."""
    path = folder / "run.toml"
    text = RUN.format(frames=frames, out=folder / "out", policy=policy, link=link, receivers=receivers)
    path.write_text(text.replace("bands = 2", 'bands = 2\ngroup = "farm"') if receivers == FARM else text)
    slow = {"LD_PRELOAD": str(compiled_shim(folder)), "CHAOS_WRITES": f"slow {WRITE_US}"}
    command = [*COMMAND, "run", str(path), "-q", "--no-page", "--output", str(folder / "report")]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | slow, capture_output=True, text=True, check=False, timeout=200
    )
    report = folder / "report" / "report.json"
    assert report.exists(), done.stderr
    return done.returncode, json.loads(report.read_text()), done.stderr


def slowed_of(overruns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the overruns that slowed the source, and check that each rate is lower than the one before. When other programs occupy the processors,
    no rate fits for long; losses after the last frame are counted."""
    slowed = [one for one in overruns if one["action"] == "slowed"]
    assert slowed
    assert overruns in (slowed, [*slowed, overruns[-1]])
    assert overruns[-1]["action"] in ("slowed", "counted")
    rates = [one["new_rate_hz"] for one in slowed]
    assert rates == sorted(rates, reverse=True)
    assert all(one["new_rate_hz"] < one["old_rate_hz"] for one in slowed)
    return slowed


@pytest.mark.slow
def test_a_paced_source_is_slowed_down_and_what_was_run_over_stays_red(tmp_path: Path) -> None:
    code, report, said = run(tmp_path, "slow", 'flow = "paced"')
    assert code == 3, said
    overruns = report["overruns"]
    slowed = slowed_of(overruns)
    assert slowed[0]["old_rate_hz"] == 400.0
    assert slowed[-1]["new_rate_hz"] < FITS_HZ
    assert f"overrun of full after {overruns[0]['at_s']:.1f} s" in said
    assert overruns[0]["images"] > 0
    losses = [dtp["losses"] for buffer in report["buffers"] for dtp in buffer["dtps"]]
    # an image may be partial: one of its DTPs came before the slot was free, and the other after; no pause has lost any
    assert all(loss["deadline"] == loss["lines"] == loss["event"] == 0 for loss in losses), losses
    lost = sum(dtp["losses"]["overrun"] for buffer in report["buffers"] for dtp in buffer["dtps"])
    assert sum(one["images"] for one in overruns) == lost
    assert lost < 1100  # of 1600: so many were lost without it, as a disk that takes 125 a second leaves of 400
    assert report["books"]["balanced"]
    assert any(notice["what"] == "overrun" for notice in report["notifications"])


@pytest.mark.slow
def test_a_source_is_stopped_and_everything_is_in_the_books(tmp_path: Path) -> None:
    code, report, said = run(tmp_path, "stop", 'on_full = "skip"', 100_000)
    assert code == 3, said
    assert [one["action"] for one in report["overruns"]] == ["stopped"]
    assert report["books"]["balanced"]
    assert 0 < report["books"]["expected"] < 90_000  # it ended where it was
    assert report["run"]["stopped_by"] == "run.on_overrun"
    assert report["injected"]["unexplained"] == 0
    assert "rashpa run: run.on_overrun: overrun of full after " in said


@pytest.mark.slow
def test_a_source_that_skips_is_slowed_down_and_skips_no_more(tmp_path: Path) -> None:
    code, report, said = run(tmp_path, "slow", 'on_full = "skip"', 700)
    assert code == 0, said
    overruns = report["overruns"]
    slowed = slowed_of(overruns)
    assert slowed[-1]["new_rate_hz"] < FITS_HZ
    master = tmp_path / "out" / "fast_full_master.h5"
    with h5py.File(master) as file:
        missing = set(range(700)) - set(file["/entry/data/frame_number"][:].tolist())
    assert len(missing) == report["books"]["missing"] + report["books"]["errored"] > 0
    if overruns == slowed:
        last = slowed[-1]
        assert max(missing) <= last["frame"] + last["old_rate_hz"]  # none after the last pause
    assert report["books"]["balanced"]
    assert report["injected"]["unexplained"] == 0


@pytest.mark.slow
def test_an_overrun_is_counted_and_nothing_is_changed(tmp_path: Path) -> None:
    code, report, said = run(tmp_path, "count", 'flow = "paced"', 600)
    assert code == 3, said
    (overrun,) = report["overruns"]
    assert overrun["action"] == "counted"
    lost = sum(dtp["losses"]["overrun"] for buffer in report["buffers"] for dtp in buffer["dtps"])
    assert overrun["images"] == lost > 0
    assert report["books"]["balanced"]
    assert "counted, nothing was changed" in said


@pytest.mark.slow
def test_a_group_of_which_nobody_has_room_is_slowed_down_and_skips_no_more(tmp_path: Path) -> None:
    code, report, said = run(tmp_path, "slow", 'on_full = "skip"', 900, FARM)
    assert code == 0, said
    overruns = report["overruns"]
    slowed = slowed_of(overruns)
    assert overruns[0]["buffers"] == ["group farm"]
    assert slowed[-1]["new_rate_hz"] < 2 * FITS_HZ  # two members
    (group,) = report["groups"]
    assert group["partial"] == group["unexplained"] == 0  # no pause has left an image half sent
    assert group["missing"] == group["skipped"] > 0
    assert sum(one["skipped"] for one in overruns) == 2 * group["skipped"]  # images of two bands' DTPs
    missing = set(range(900)) - stored(tmp_path / "out")
    assert len(missing) == group["missing"]
    if overruns == slowed:
        last = slowed[-1]
        assert max(missing) <= last["frame"] + last["old_rate_hz"]  # none after the last pause


@pytest.mark.slow
def test_a_group_is_stopped_in_order(tmp_path: Path) -> None:
    code, report, said = run(tmp_path, "stop", 'on_full = "skip"', 20_000, FARM)
    assert code == 3, said
    assert [one["action"] for one in report["overruns"]] == ["stopped"]
    assert report["books"]["balanced"]
    (group,) = report["groups"]
    assert group["partial"] == group["unexplained"] == 0
    assert group["complete"] == len(stored(tmp_path / "out"))


def stored(folder: Path) -> set[int]:
    """Return the frames that members have stored."""
    frames: set[int] = set()
    for name in ("a", "b"):
        with h5py.File(folder / f"fast_full_{name}_master.h5") as file:
            frames.update(file["/entry/data/frame_number"][:].tolist())
    return frames
