# SPDX-License-Identifier: Apache-2.0
"""Tests every command that makes a file on a full disk: it names the file, ends with its exit code, and leaves no file; no library ends the process."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.whole  # a process for each
_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from tests.files.twelve_images import FRAMES, PEAKS, pipeline  # noqa: E402

from rashpa.node.offline.process import Job, Recording, process_recording  # noqa: E402

ROOM = 4096
"""Bytes that a file may have: as many as a disk has that is nearly full."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "convert": ("convert", "raw_b_raw_master.h5", "made/x"),
    "inspect --output": ("inspect", "dense_b_master.h5", "--output", "made/x.png", "--image", "1"),
    "combine": ("combine", "dense_b_master.h5", "-o", "made/x.h5"),
    "peaks": ("peaks", "dense_b_master.h5", "--output", "made/x.cxi"),
    "calibrate": ("calibrate", "pedestal", "made/x.h5", "--g0", "f.npy", "--g1", "g1.npy", "--g2", "g2.npy", "--least-frames", "2"),
    "process": ("process", "f.npy", "-p", "dense.toml", "-o", "made/x", "-q"),
    "plan --output": ("plan", "dense.toml", "--output", "made/x.svg"),
    "dataset make": ("dataset", "make", "made/x", "--kind", "pattern", "--width", "64", "--height", "48", "--frames", "20"),
    "dataset preview": ("dataset", "preview", "f.npy", "-o", "made/x.png"),
    "conformance": ("conformance", "--output", "made/x.json"),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    np.save(folder / "f.npy", FRAMES)
    for gain, word in ((1, 1 << 14), (2, 3 << 14)):
        np.save(folder / f"g{gain}.npy", FRAMES + np.uint16(word))
    for name, sink in (("raw", "raw"), ("dense", "hdf5")):
        file = folder / f"{name}.toml"
        file.write_text(pipeline(sink, 4, PEAKS, keep_darks=True), encoding="utf-8")
        assert process_recording(Job(file, "", folder, Recording(name, (folder / "f.npy",)))).good
    return folder


@pytest.mark.parametrize("name", list(COMMANDS))
def test_what_does_not_fit_is_said_and_not_there(made: Path, tmp_path: Path, name: str) -> None:
    work = tmp_path / "in"
    shutil.copytree(made, work)
    (work / "made").mkdir()

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))

    done = subprocess.run(
        [sys.executable, "-m", "rashpa.cli.entry", *COMMANDS[name]],
        cwd=work,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # which Python cuts where there is no room, and reads then
        preexec_fn=limited,
    )
    said = done.stderr
    assert done.returncode in (1, 2, 3), (done.returncode, said)
    assert "Traceback" not in said
    assert "made/x" in said or "hdf5 sink: no room" in said, said
    assert ";" in said, f"no remedy: {said}"
    assert list((work / "made").rglob("*")) == []
