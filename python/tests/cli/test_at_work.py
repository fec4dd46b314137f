# SPDX-License-Identifier: Apache-2.0
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rashpa.cli.at_work import StoppedError, Work, carried_out
from rashpa.cli.teller import Teller

# the command, which says at once how far it is
SAYING = """\
import sys
sys.argv = ["rashpa", *sys.argv[1:]]
from rashpa.cli import at_work, entry
at_work.SAY_EVERY_S = 0.0
entry.main()
"""


def nothing() -> None:
    pass


def test_what_the_work_makes_comes_back_and_what_it_raises_too() -> None:
    tell = Teller("test")
    assert carried_out(tell, lambda work: work.share, nothing) == 0.0

    def fails(work: Work) -> None:
        work.begin("failing")
        work.is_at(7.0)
        assert work.share == 1.0
        raise FileNotFoundError(2, "not there", "some.h5")

    with pytest.raises(FileNotFoundError, match=r"some\.h5"):
        carried_out(tell, fails, nothing)


def test_work_that_was_asked_to_end_ends_at_its_next_step() -> None:
    work = Work()
    work.begin("one")
    work.stop()
    with pytest.raises(StoppedError):
        work.is_at(0.5)
    with pytest.raises(StoppedError):
        work.begin("two")


def interrupted(words: list[str], folder: Path) -> tuple[str, float]:
    """Interrupt a command while it works; return its output, and the seconds until it ended."""
    with subprocess.Popen(
        [sys.executable, "-m", "rashpa.testing.prepared.program", SAYING, *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = first + process.communicate(timeout=60)[1]
        assert process.returncode == 130, said
    return said, time.monotonic() - began


@pytest.mark.whole
@pytest.mark.parametrize("there", [False, True])
def test_an_interrupt_ends_the_making_of_a_dataset_and_leaves_nothing(tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "set").mkdir()
    said, seconds = interrupted(["dataset", "make", "set", "--modules", "1", "--frames", "1500"], tmp_path)
    assert "making frames: " in said
    assert "interrupted" in said
    assert seconds < 20.0, "1 s, beside much other work"
    assert [path.name for path in tmp_path.iterdir()] == ["set"] * there
    assert not there or not any((tmp_path / "set").iterdir())


@pytest.mark.whole
def test_an_interrupt_ends_a_calibration_and_leaves_nothing(tmp_path: Path) -> None:
    words = ["calibrate", "pedestal", "out.h5"]
    for gain, code in enumerate((0, 1, 3)):
        frames = np.full((60, 512, 1024), (code << 14) + 1000, np.uint16)
        frames[1::2] += 3
        np.save(tmp_path / f"g{gain}.npy", frames)
        words += [f"--g{gain}", f"g{gain}.npy"]
    said, seconds = interrupted(words, tmp_path)
    assert any(f"G{gain}: " in said for gain in range(3))
    assert "interrupted" in said
    assert seconds < 20.0, "1 s, beside much other work"
    assert not (tmp_path / "out.h5").exists()


@pytest.mark.whole
def test_a_folder_that_is_not_empty_is_refused_before_frames_are_made(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "mine").touch()
    words = [
        sys.executable,
        "-m",
        "rashpa.testing.prepared.program",
        SAYING,
        "dataset",
        "make",
        "set",
        "--modules",
        "1",
        "--frames",
        "1500",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "the folder is not empty" in done.stderr
    assert "making frames" not in done.stderr
    assert (tmp_path / "set" / "mine").exists()
