# SPDX-License-Identifier: Apache-2.0
"""Tests foreign kernels that misbehave: they exit, fork, leave threads and children behind, or change the folder. The run reports it, and leaves no
process behind."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.data.stored.reader import open_run
from rashpa.sim import pattern_frame
from rashpa.testing.run_file import small_run
from rashpa.testing.waiting import eventually

pytestmark = pytest.mark.whole

FRAMES, HEIGHT, WIDTH = 60, 32, 48
RASHPA = [sys.executable, "-m", "rashpa.cli.entry"]
BUFFER = {"stack": 5, "kernel": [{"name": "python", "function": "odd:f"}]}
HEAD = """\
import os, signal, subprocess, sys, tempfile, threading, time
from rashpa.data.kernels.kernel import Column, kernel
IMAGES = [-1]
class Wordless(Exception):
    def __str__(self):
        raise ValueError
    __repr__ = __str__
def deeper():
    deeper()
def away():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
def fork(lasts_s):
    if os.fork() == 0:
        time.sleep(lasts_s)  # wait: the child of a kernel that stays
        os._exit(0)
def throw(error):
    raise error
@kernel(takes=["uint16"], columns=[Column("number", "uint32")])
def f(pixels):
    IMAGES[0] += 1
    return {"number": DO.get(IMAGES[0], lambda: IMAGES[0])() and IMAGES[0]}
"""
# by the number of the image; what is returned does not count
LEAVES = """\
DO = {
    5: lambda: fork(300) or 1,
    10: lambda: subprocess.Popen(["sleep", "300"]),
    15: lambda: threading.Thread(target=time.sleep, args=(300,)).start() or 1,
    20: lambda: (sys.stdout.close(), sys.stderr.close()),
    25: lambda: (os.close(1), os.close(2)),
    30: lambda: away() or 1,
    31: lambda: sys.exit(3),
    32: lambda: throw(KeyboardInterrupt()),
    33: lambda: deeper(),
    34: lambda: throw(MemoryError()),
    35: lambda: throw(Wordless()),
    36: lambda: throw(GeneratorExit()),
    40: lambda: os.environ.clear() or 1,
    41: lambda: sys.setswitchinterval(1000) or 1,
}
"""
ERRORED = (31, 32, 33, 34, 35, 36)


def run(folder: Path, code: str) -> "subprocess.CompletedProcess[str]":
    (folder / "odd.py").write_text(HEAD + code)
    (folder / "run.toml").write_text(small_run(run={"frames": FRAMES}, buffer=BUFFER))
    command = [*RASHPA, "run", "run.toml", "-q"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def left_in(folder: Path) -> list[str]:
    """Return the processes that were started in the folder, whatever their parents."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == folder.resolve():
                found.append((entry / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def test_what_a_kernel_leaves_behind_ends_with_the_run_and_what_it_raises_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, LEAVES)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "6 of 60 images errored (6 unit)" in done.stderr
    assert "image 31 (frame 31), unit: kernel f: SystemExit: 3" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    eventually(lambda: not left_in(tmp_path))
    with open_run(tmp_path / "out/small_full_master.h5") as stored:
        wanted = [number for number in range(FRAMES) if number not in ERRORED]
        assert stored.frame_numbers.tolist() == wanted
        assert [stored.tables.scalars["number"][number] for number in wanted] == wanted
        for number, pixels in stored.images():
            np.testing.assert_array_equal(pixels, pattern_frame("uint16", 0, number % 16, HEIGHT, WIDTH))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("os._exit(4)", "ended with exit code 4"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "ended with exit code 0"),
        ("os.abort()", "was killed by SIGABRT"),
    ],
)
def test_a_kernel_that_ends_its_node_is_told_and_what_was_stored_is_repaired(
    tmp_path: Path, code: str, says: str
) -> None:
    done = run(tmp_path, f"DO = {{30: lambda: {code}}}\n")
    assert done.returncode == 1, done.stdout + done.stderr
    assert says in done.stderr
    ordered = "SIGTERM" in code  # its receiver completes the file
    assert ("rashpa repair out/small_full" in done.stdout) is not ordered
    eventually(lambda: not left_in(tmp_path))
    assert subprocess.run([*RASHPA, "repair", "out/small_full"], cwd=tmp_path, timeout=60).returncode in (0, 3)
    with open_run(tmp_path / "out/small_full_master.h5") as stored:
        for number, pixels in stored.images():
            np.testing.assert_array_equal(pixels, pattern_frame("uint16", 0, number % 16, HEIGHT, WIDTH))


def test_nobody_is_left_by_this_file() -> None:
    """Check that the search for processes finds this one."""
    assert left_in(Path.cwd())
