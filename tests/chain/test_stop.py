# SPDX-License-Identifier: Apache-2.0
"""Tests `rashpa stop` on whole acquisitions: a run ends in order at its present frame, whichever process manages it."""

import json
import subprocess
from pathlib import Path

import h5py
import pytest
from tests.chain.test_attach import killed
from tests.chain.test_open_runs import COMMAND, begin, check, wait_for_images, write

from rashpa.testing.waiting import GUARD_S

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")


def stop(where: Path) -> tuple[int, str]:
    done = subprocess.run([*COMMAND, "stop", str(where)], capture_output=True, text=True, timeout=180, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("frames", "link"), [("1000000", ""), ("1000000", 'kind = "pcie"'), ('"until stopped"', "")])
def test_a_run_ends_where_it_is_and_has_every_image_until_there(tmp_path: Path, frames: str, link: str) -> None:
    file = write(tmp_path, link)
    file.write_text(file.read_text().replace('frames = "until stopped"', f"frames = {frames}"))
    process = begin(file)
    wait_for_images(tmp_path, 50)
    code, said = stop(tmp_path)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert code == 0, said
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert 50 <= check(tmp_path, report) < 1_000_000
    assert "@" in report["run"]["stopped_by"]
    of = "" if "until" in frames else " of 1000000"
    assert f"ended after {report['run']['frames']}{of} frames; books balanced" in said
    assert stop(tmp_path)[0] == 2, "there is no run any more"


def test_a_run_that_is_paused_ends_where_it_is(tmp_path: Path) -> None:
    process = begin(write(tmp_path))
    wait_for_images(tmp_path, 50)
    paused = subprocess.run(
        [*COMMAND, "pause", str(tmp_path)], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    assert paused.returncode == 0, paused.stdout + paused.stderr
    code, said = stop(tmp_path)
    output, _ = process.communicate(timeout=180)
    assert (process.returncode, code) == (0, 0), output + said
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    frame = int(paused.stdout.split("before frame ")[1].split()[0])
    assert 50 <= check(tmp_path, report) <= frame


def test_what_was_lost_until_the_end_is_explained(tmp_path: Path) -> None:
    file = write(tmp_path)
    lossy = "[faults]\nseed = 3\ndrop = 0.002\ndead_modules = [{ module = 1, from_frame = 100 }]\n"
    file.write_text(file.read_text().replace('frames = "until stopped"', "frames = 1000000") + lossy)
    process = begin(file)
    wait_for_images(tmp_path, 200)
    code, said = stop(tmp_path)
    output, _ = process.communicate(timeout=180)
    assert (process.returncode, code) == (0, 0), output + said
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    books = next(buffer["books"] for buffer in report["buffers"] if buffer["name"] == "all")
    assert books["expected"] == report["run"]["frames"] < 1_000_000
    assert books["complete"] < 101
    assert report["injected"]["unexplained"] == 0


def test_a_run_whose_manager_was_killed_is_taken_over_and_ended(tmp_path: Path) -> None:
    with killed(tmp_path, "finish", 1_000_000):
        code, said = stop(tmp_path / "out")
    assert code == 0, said
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["run"]["good"]
    assert "@" in report["run"]["stopped_by"]
    with h5py.File(tmp_path / "out" / "orphan_full_master.h5") as master:
        written = int(master["entry/rashpa/books/written"][()])
        assert written == report["run"]["frames"] == len(master["entry/data/frame_number"])
        assert master["entry/instrument/detector/detectorSpecific/nimages"][()] == written
