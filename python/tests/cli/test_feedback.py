# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from rashpa.testing.waiting import GUARD_S, eventually

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

pytestmark = pytest.mark.whole

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
RUN = """\
[run]
name = "shown"
frames = 20
output = "."
[detector]
width = 32
height = 16
[dataset]
kind = "pattern"
width = 32
height = 16
[link]
port = 0
[[buffer]]
name = "full"
stack = 1
sink = [{{ kind = "null" }}]
feedback = {{ ring = "{ring}" }}
kernel = [{{ name = "total_counts" }}]
"""


def test_a_run_is_shown_image_by_image(tmp_path: Path) -> None:
    ring = f"test-{uuid.uuid4().hex[:12]}"
    (tmp_path / "run.toml").write_text(RUN.format(ring=ring))
    shown = subprocess.Popen(
        [*COMMAND, "feedback", ring, "--timeout", "60", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    # it has the native module when it looks for the ring: its imports take seconds where others compile
    maps = Path(f"/proc/{shown.pid}/maps")
    eventually(lambda: "_native" in maps.read_text(), process=shown)
    report = tmp_path / "report"
    run = [*COMMAND, "run", "run.toml", "--report", str(report), "--no-page"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    output, error = shown.communicate(timeout=GUARD_S)
    assert shown.returncode == 0, error
    images = [json.loads(line) for line in output.decode().splitlines()]
    assert [image["index"] for image in images] == list(range(20))
    assert {image["decision"] for image in images} == {"accepted"}
    assert all(image["scalars"]["total_counts"] > 0 for image in images)
    assert error.decode().startswith("20 images, 0 lost; last byte to here: p50 ")
    said = json.loads((report / "report.json").read_text())
    (buffer,) = said["buffers"]
    assert buffer["feedback"]["published"] == 20
    assert buffer["latency_us"]["published"]["count"] == 20
    assert not Path(f"/dev/shm/rashpa.{ring}").exists()


def test_a_ring_that_does_not_come_is_said_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "feedback", str(tmp_path / "none"), "--timeout", "0.1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "no receiver published there within 0.1 s" in done.stderr
    (tmp_path / "file").write_bytes(b"x" * 8192)
    done = subprocess.run([*COMMAND, "feedback", str(tmp_path / "file")], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is no ring that can be read" in done.stderr
