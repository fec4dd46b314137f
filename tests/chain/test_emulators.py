# SPDX-License-Identifier: Apache-2.0
"""Tests two emulators and two receivers in one run, as a user starts it: every pixel, the books, and the messages when one emulator is lost."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.cli.report.report import report_of
from rashpa.sim import pattern_frame
from rashpa.testing.waiting import GUARD_S, eventually
from rashpa.testing.warm_nodes import WarmNodes

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
WIDTH, HEIGHT, FRAMES, DIFFERENT = 96, 64, 200, 7
PLACES = ((0, 0), (100, 0), (0, 70), (100, 70))  # with gaps
HALVES = {"west": (0, 0, 98, 134), "east": (98, 0, 98, 134)}  # the first and third module, the second and fourth
RUN = """\
[run]
name = "four"
frames = {frames}
output = "."
existing = "replace"
[detector]
width = 96
height = 64
rate_hz = {rate_hz}
module = [{{ x = 0, y = 0 }}, {{ x = 100, y = 0 }}, {{ x = 0, y = 70 }}, {{ x = 100, y = 70 }}]
[dataset]
kind = "pattern"
width = 96
height = 64
modules = 4
frames = 7
[link]
{link}
[[emulator]]
name = "upper"
{upper}
[[emulator]]
name = "lower"
{lower}
[[receiver]]
name = "left"
port = 0
[[receiver]]
name = "emulator"
port = 0
[[buffer]]
name = "west"
region = [0, 0, 98, 134]
bands = 2
slots = 20
stack = 5
deadline_ms = {deadline_ms}
[[buffer.sink]]
kind = "hdf5"
[[buffer]]
name = "east"
receiver = "emulator"
region = [98, 0, 98, 134]
slots = 20
stack = 5
deadline_ms = {deadline_ms}
[[buffer.sink]]
kind = "hdf5"
"""


def write(folder: Path, frames: int = FRAMES, rate_hz: float = 0.0, extra: str = "", **parts: str) -> Path:
    values = {"link": "", "upper": "", "lower": "", **parts}
    # one of two emulators may be without a processor for seconds; where images are lost, or the run is disturbed, it ends soon
    text = RUN.format(frames=frames, rate_hz=rate_hz, deadline_ms=1000 if rate_hz or extra else 20000, **values)
    file = folder / "four.toml"
    file.write_text(text + extra, encoding="utf-8")
    return file


def played(warm_nodes: WarmNodes, file: Path) -> dict[str, Any]:
    """Return the report of a run that must be good, on running nodes."""
    return report_of(warm_nodes.good_run(file), file)


def run(file: Path) -> tuple[int, str, dict[str, Any]]:
    """Return exit code, output and report of the command, which starts the nodes without a URL."""
    folder = file.parent
    done = subprocess.run(
        [*COMMAND, "run", str(file), "-q", "--output", str(folder / "report"), "--no-page"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
    )
    output = " ".join(f"{done.stdout} {done.stderr}".split())
    report = folder / "report" / "report.json"
    return done.returncode, output, json.loads(report.read_text()) if report.is_file() else {}


def expected(buffer: str, frame: int) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
    """Return the buffer's image, and True where modules are."""
    x, y, width, height = HALVES[buffer]
    image, there = np.zeros((134, 196), np.uint16), np.zeros((134, 196), np.bool_)
    for module, (left, top) in enumerate(PLACES):
        image[top : top + HEIGHT, left : left + WIDTH] = pattern_frame(
            "uint16", module, frame % DIFFERENT, HEIGHT, WIDTH
        )
        there[top : top + HEIGHT, left : left + WIDTH] = True
    return image[y : y + height, x : x + width], there[y : y + height, x : x + width]


def check_images(folder: Path) -> None:
    for buffer in HALVES:
        with h5py.File(folder / f"four_{buffer}_master.h5") as file:
            frames = file["/entry/data/frame_number"][:]
            assert list(frames) == list(range(FRAMES))
            stored = file["/entry/data/data"]
            for index, frame in enumerate(frames):
                image, there = expected(buffer, int(frame))
                np.testing.assert_array_equal(
                    np.asarray(stored[index])[there], image[there], err_msg=f"{buffer} {frame}"
                )


@pytest.mark.parametrize("link", ["", 'roce.transport = "rc"', 'kind = "pcie"'])
def test_every_pixel_of_two_emulators_arrives_at_both_receivers(
    warm_nodes: WarmNodes, tmp_path: Path, link: str
) -> None:
    report = played(warm_nodes, write(tmp_path, link=link))
    assert report["books"]["balanced"]
    assert report["books"]["complete"] == report["books"]["written"] == 2 * FRAMES
    assert report["injected"]["unexplained"] == 0
    known = {one["name"]: (one["modules"], one["dtps"], one["images_sent"]) for one in report["emulators"]}
    assert known == {"upper": ([0, 1], [0, 1, 4], 3 * FRAMES), "lower": ([2, 3], [2, 3, 5], 3 * FRAMES)}
    assert [dtp["id"] for dtp in report["source"]["dtps"]] == [0, 1, 2, 3, 4, 5]
    check_images(tmp_path)


def test_the_books_of_all_equal_the_logs_of_both_emulators(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    faults = "[faults]\nseed = 3\ndrop = 0.002\nduplicate = 0.002\nreorder = 0.002\ncorrupt = 0.002\n"
    report = played(warm_nodes, write(tmp_path, frames=2000, extra=faults))
    assert report["injected"]["unexplained"] == 0
    assert report["books"]["partial"] > 0
    each = [one["injected"]["drop"] for one in report["emulators"]]
    assert min(each) > 0
    assert report["injected"]["drop"] == sum(each)


def test_emulators_that_are_running_are_named_by_their_urls(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    words = [*COMMAND, "emulator", "--port", "0", "--with-parent"]
    with contextlib.ExitStack() as opened:
        nodes = [
            opened.enter_context(
                subprocess.Popen([*words, "--name", name], cwd=tmp_path, stdin=pipe, stdout=pipe, text=True)
            )
            for name in ("one", "other")
        ]
        urls = [json.loads(node.stdout.readline())["url"] for node in nodes if node.stdout]
        file = write(tmp_path, upper=f'node = "{urls[0]}"\nmodules = [3, 0]', lower=f'node = "{urls[1]}"')
        for _ in range(2):  # nodes stay up
            code, output, report = run(file)
            assert code == 0, output
            assert [(one["node"], one["modules"]) for one in report["emulators"]] == [
                (urls[0], [3, 0]),
                (urls[1], [1, 2]),
            ]
            check_images(tmp_path)
        nodes[1].kill()
        nodes[1].wait()
        code, output, _ = run(file)
        assert code != 0
        assert f"emulator lower at {urls[1]} cannot be reached" in output


@pytest.mark.usefixtures("ordinary_starts")
@pytest.mark.parametrize("link", ["", 'kind = "pcie"'])
def test_an_emulator_that_is_killed_is_named_and_the_next_run_works(tmp_path: Path, link: str) -> None:
    file = write(tmp_path, frames=100_000, rate_hz=200.0, link=link)
    process = subprocess.Popen(
        [*COMMAND, "run", str(file), "--output", str(tmp_path / "report"), "--no-page"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    data = tmp_path / "four_east_data_000001.h5"
    try:
        eventually(lambda: data.exists() and data.stat().st_size > 100_000, process=process)
        nodes = {}
        for entry in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            nodes[words[words.index(b"--name") + 1].decode()] = int(entry)
        assert set(nodes) == {"emulator upper", "emulator lower", "receiver left", "receiver emulator"}
        os.kill(nodes["emulator lower"], signal.SIGKILL)
        output, _ = process.communicate(timeout=GUARD_S)
    finally:
        process.kill()
    assert process.returncode == 1, output
    flat = " ".join(output.split())
    assert f"emulator lower (process {nodes['emulator lower']}) was killed by SIGKILL" in flat
    assert "first missing image of receiver left: buffer west image" in flat
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["run"]["problem"].startswith("emulator lower")
    assert all(one["books"]["balanced"] for one in report["receivers"])
    upper, lower = report["emulators"]
    assert upper["images_sent"] > 0
    assert upper["images_sent"] >= lower["images_sent"], (
        "the lost one as it was last heard, which may be before its first image"
    )
    assert not any(Path(f"/proc/{node}").exists() for node in nodes.values()), "no process is left behind"
    code, output, _ = run(write(tmp_path, link=link))
    assert code == 0, output
    check_images(tmp_path)
