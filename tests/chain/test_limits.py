# SPDX-License-Identifier: Apache-2.0
"""Tests limits of vetoes that a user changes during a run: each image is decided by the limits of its stack, and file and report record the change."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import rashpa
from rashpa.control.handover.journal import find_journal
from rashpa.control.handover.limits_request import Limits, set_limits
from rashpa.control.handover.steering import steer
from rashpa.control.orders.limit_values import LimitsError
from rashpa.sim import pattern_frame
from rashpa.testing.waiting import GUARD_S, eventually

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
ACCEPTED, VETOED = 1, 2
WIDTH, HEIGHT, DIFFERENT, STACK, BRIGHT = 64, 32, 7, 5, 60000
RUN = """\
[run]
name = "limited"
frames = {frames}
output = "."
[detector]
width = 64
height = 32
rate_hz = 400.0
[dataset]
kind = "pattern"
width = 64
height = 32
frames = 7
{receivers}
[[buffer]]
name = "full"
slots = 40
stack = 5
{group}
[[buffer.kernel]]
name = "bragg_count"
threshold = 60000
min_pixels = 165
[[buffer.kernel]]
name = "veto"
keep = "bright_pixels < 190"
reason = "too_bright"
[[buffer.sink]]
kind = "hdf5"
"""
ONE = "[receiver]\nport = 0"
TWO = '[[receiver]]\nname = "a"\nport = 0\n[[receiver]]\nname = "b"\nport = 0\n[[group]]\nname = "farm"\nreceivers = ["a", "b"]'


def _begin(folder: Path, receivers: str = ONE, group: str = "", frames: int = 1_000_000) -> "subprocess.Popen[str]":
    file = folder / "run.toml"
    file.write_text(RUN.format(receivers=receivers, group=group, frames=frames))
    command = [*COMMAND, "run", str(file), "-q", "--output", str(folder / "report")]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _say(folder: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, words[0], str(folder), *words[1:]], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    return done.returncode, done.stdout + done.stderr


def _wait_for_images(folder: Path, files: list[str]) -> None:
    """Wait until each data file has some images."""

    def there() -> bool:
        try:
            for name in files:
                with h5py.File(folder / name, "r", swmr=True) as file:
                    if not len(file["/entry/data/data"]):
                        return False
        except (OSError, KeyError):
            return False
        return True

    eventually(there, 180.0, f"images in {files}")


def _bright(frame: int) -> int:
    return int((pattern_frame("uint16", 0, frame % DIFFERENT, HEIGHT, WIDTH).astype(int) >= BRIGHT).sum())


def _check(master: Path, changes: list[dict[str, Any]], kept: Callable[[int, int], bool]) -> None:
    """Compare each image's decision with `kept(image, bright pixels)`, and the file's table of changes with the report's."""
    with h5py.File(master) as file:
        rows = file["/entry/rashpa"]
        frames, decisions = rows["frame_number"][:], rows["decision"][:]
        wanted = [ACCEPTED if kept(image, _bright(int(frame))) else VETOED for image, frame in enumerate(frames)]
        np.testing.assert_array_equal(decisions, wanted)
        table = file["/entry/rashpa/limits"]
        for column, key in (("kernel", "number"), ("first_image", "first_image")):
            assert table[column][:].tolist() == [one[key] for one in changes]
        for key in ("step", "key", "old", "new", "by"):
            assert [text.decode() for text in table[key][:]] == [one[key] for one in changes]
        assert all(text.decode().endswith("Z") for text in table["time"][:])
    with rashpa.open(master) as run:
        for found, one in zip(run.changed_limits, changes, strict=True):
            assert found.time.endswith("Z")
            assert (found.kernel, found.step, found.key) == (one["number"], one["step"], one["key"])
            assert (found.old, found.new) == (json.loads(one["old"]), json.loads(one["new"]))
            assert (found.first_image, found.by) == (one["first_image"], one["by"])


def test_each_image_is_decided_by_the_limits_of_its_stack(tmp_path: Path) -> None:
    run = _begin(tmp_path)
    try:
        _wait_for_images(tmp_path, ["limited_full_data_000001.h5"])
        code, said = _say(tmp_path, "limits", "bragg_count", "min_pixels=175")
        assert code == 0, said
        first = int(said.split("from image ")[1].split()[0])
        assert "full: bragg_count: min_pixels is 175 in place of 165, from image" in said
        assert _say(tmp_path, "pause")[0] == 0
        code, said = _say(tmp_path, "limits", "too_bright", "keep=bright_pixels < 185", "--buffer", "full")
        assert code == 0, said
        second = int(said.split("from image ")[1].split()[0])
        assert "too_bright: keep is bright_pixels < 185 in place of bright_pixels < 190" in said
        for step, values, text in (
            ("bragg_count", {"min_pixels": "-1"}, "min_pixels: it is -1; it must be at least 0"),
            ("bragg_count", {"min_pixels": "many"}, 'min_pixels: it is "many"; it must be a whole number'),
            (
                "bragg_count",
                {"threshold": "1"},
                "threshold: bragg_count keeps it from its start to its end; change min_",
            ),
            ("bragg_count", {"min_pixels": "9", "max_pixels": "8"}, "min_pixels: 9 is more than max_pixels (8)"),
            ("too_bright", {"keep": "n_peaks > 1"}, "keep: no step before it makes the column n_peaks; there are"),
            ("too_dark", {"keep": "1"}, "step: buffer full has no veto too_dark; there are bragg_count"),
            ("bragg_count", {"min_pixels": "175"}, "min_pixels: bragg_count has this limit already"),
            ("bragg_count", {}, "no limit is given; give KEY=VALUE"),
        ):
            with pytest.raises(LimitsError) as refused:
                set_limits(find_journal(tmp_path), Limits(step, values, by="a test"), GUARD_S)
            assert text in str(refused.value)
        code, said = _say(tmp_path, "limits", "bragg_count", "min_pixels=1", "--buffer", "none")
        assert (code, "buffer: there is no none; name one of full" in said) == (2, True), said
        assert _say(tmp_path, "resume")[0] == 0
        _wait_for_more(tmp_path / "limited_full_data_000001.h5")
        code, said_at_end = _say(tmp_path, "stop")
        assert code == 0, said_at_end
        output, _ = run.communicate(timeout=GUARD_S)
    finally:
        if run.poll() is None:
            _say(tmp_path, "abort")
    assert run.returncode == 0, output
    assert first % STACK == second % STACK == 0
    assert 0 < first < second
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["books"]["balanced"]
    changes = report["buffers"][0]["limits"]
    assert [one["first_image"] for one in changes] == [first, second]
    assert all("@" in one["by"] for one in changes)
    assert report["run"]["frames"] > second
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Limits of vetoes that changed" in page

    def kept(image: int, bright: int) -> bool:
        return (165 if image < first else 175) <= bright < (190 if image < second else 185)

    _check(tmp_path / "limited_full_master.h5", changes, kept)


def _wait_for_more(file: Path) -> None:
    def count() -> int:
        with h5py.File(file, "r", swmr=True) as opened:
            return len(opened["/entry/data/data"])

    before = count()
    eventually(lambda: count() > before, 180.0, "more images")


def test_all_receivers_of_a_group_get_them(tmp_path: Path) -> None:
    run = _begin(tmp_path, TWO, 'group = "farm"', frames=4000)  # a group has a known end
    try:
        _wait_for_images(tmp_path, [f"limited_full_{name}_data_000001.h5" for name in "ab"])
        journal = find_journal(tmp_path)
        steer(journal, "pause", "a test", GUARD_S)
        wanted = Limits("bragg_count", {"min_pixels": "175", "max_pixels": "185"}, by="a test")
        said = set_limits(journal, wanted, GUARD_S)
        steer(journal, "resume", "a test", GUARD_S)
        output, _ = run.communicate(timeout=GUARD_S)
    finally:
        if run.poll() is None:
            _say(tmp_path, "abort")
    assert run.returncode == 0, output
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["books"]["balanced"]
    for name in "ab":
        (buffer,) = (one for one in report["buffers"] if one["name"] == f"full_{name}")
        changes = buffer["limits"]
        assert [one["key"] for one in changes] == ["min_pixels", "max_pixels"]
        first = changes[0]["first_image"]
        assert first == changes[1]["first_image"]
        assert f"full_{name}: bragg_count: min_pixels is 175 in place of 165, from image {first} on" in said

        def kept(image: int, bright: int, first: int = first) -> bool:
            return 165 <= bright < 190 if image < first else 175 <= bright <= 185

        _check(tmp_path / f"limited_full_{name}_master.h5", changes, kept)
