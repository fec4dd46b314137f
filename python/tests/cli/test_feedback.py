# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rashpa.cli.doors import feedback
from rashpa.cli.main import app
from rashpa.data.base.books import DataBooks
from rashpa.data.base.closed import Coming
from rashpa.data.stream.feedback_record import FeedbackError, Image
from rashpa.testing.run_file import run_file
from rashpa.testing.waiting import GUARD_S, eventually

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

pytestmark = pytest.mark.whole

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]


def run_text(ring: str) -> str:
    return run_file(
        run={"name": "shown", "output": "."},
        detector={"width": 32, "height": 16},
        buffer={"stack": 1, "feedback": {"ring": ring}, "kernel": [{"name": "total_counts"}]},
    )


def test_a_run_is_shown_image_by_image(tmp_path: Path) -> None:
    ring = f"test-{uuid.uuid4().hex[:12]}"
    (tmp_path / "run.toml").write_text(run_text(ring=ring))
    shown = subprocess.Popen(
        [*COMMAND, "feedback", ring, "--timeout", "60", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    # it has the native module when it looks for the ring: its imports take seconds where others compile
    maps = Path(f"/proc/{shown.pid}/maps")
    eventually(lambda: "_native" in maps.read_text(), process=shown)
    report = tmp_path / "report"
    run = [*COMMAND, "run", "run.toml", "--output", str(report), "--no-page"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    output, error = shown.communicate(timeout=GUARD_S)
    assert shown.returncode == 0, error
    *images, end = [json.loads(line) for line in output.decode().splitlines()]
    assert (end["command"], end["problem"]) == ("feedback", "")
    assert end["books"] == DataBooks(20, 20).as_json()
    assert 0 < end["p50_ms"] <= end["p99_ms"]
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
    assert not done.stdout
    (tmp_path / "file").write_bytes(b"x" * 8192)
    done = subprocess.run([*COMMAND, "feedback", str(tmp_path / "file")], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is no ring that can be read" in done.stderr


@pytest.mark.parametrize(
    ("end", "code", "expected", "lost", "problem"),
    [
        (None, 0, 3, 0, ""),
        (None, 3, 5, 2, ""),
        (FeedbackError("the receiver has gone"), 1, 3, 0, "the receiver has gone"),
        (TimeoutError("no image was published within 1 s"), 1, 3, 0, "no image was published within 1 s"),
        (KeyboardInterrupt(), 130, 4, 1, "stopped before the run was over"),
    ],
)
@pytest.mark.parametrize("quiet", [False, True])
def test_the_books_are_the_last_document_however_it_ends(
    end: BaseException | None,
    code: int,
    expected: int,
    lost: int,
    problem: str,
    quiet: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feedback, "open_feedback", lambda *_, **__: Shown(end, lost))
    done = CliRunner().invoke(app, ["feedback", "ring", "--json", *(["--quiet"] if quiet else [])])
    assert done.exit_code == code
    *images, last = map(json.loads, done.stdout.splitlines())
    assert [image["index"] for image in images] == ([] if quiet else [0, 1, 2])
    assert last["books"] == DataBooks(expected, 3, lost).as_json()
    assert last["problem"] == problem


class Shown(Coming[Image]):
    """Yields three images, and then the end."""

    def __init__(self, end: BaseException | None, lost: int) -> None:
        super().__init__(None)
        self.lost = lost
        self._end = end
        self._left = 3

    def take(self, timeout_s: float | None = None) -> Image | None:
        if self._left == 0:
            if self._end is not None:
                raise self._end
            return None
        self._left -= 1
        return Image(1, "b", 0, 2 - self._left, 0, 0, 0, "complete", "accepted", "none", True, {}, {}, 0, 0, 0, 0)

    def close(self) -> None:
        pass
