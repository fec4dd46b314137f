# SPDX-License-Identifier: Apache-2.0
import io
from pathlib import Path

import pytest
from rich.console import Console

from rashpa.cli import run_display
from rashpa.cli.run_display import RunDisplay
from rashpa.control.outcome import Progress
from rashpa.control.run_plan import load_plan
from rashpa.control.telegram import Books, BufferStatus, DestinationStatus, Status

RUN = """\
[run]
name = "slow"
frames = 800
[detector]
width = 64
height = 32
[dataset]
kind = "pattern"
width = 64
height = 32
[[buffer]]
name = "full"
sink = [{ kind = "null" }]
"""


def progress(decided: int, to_write: int) -> Progress:
    buffer = BufferStatus("full", "", "", "", 0, 0, Books(expected=800, complete=decided), to_write=to_write)
    destination = DestinationStatus("receiver", 1.0, "", "", (), (buffer,))
    return Progress(
        "finishing", 800, 1.0, {}, {"receiver": Status("r", "receiver", "running", destination=destination)}
    )


def test_a_slow_sink_at_the_end_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(run_display.time, "monotonic", lambda: now[0])
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    said = io.StringIO()
    with RunDisplay(Console(file=said, width=200), load_plan(path), quiet=False) as display:
        display.show(progress(300, 100))
        assert "writing" not in said.getvalue()
        now[0] = 6.0
        display.show(progress(312, 88))
        now[0] = 12.0
        display.show(progress(800, 0))
    assert "writing: 312 of 800 images, 88 wait, 2.0 images/s" in said.getvalue()
    assert "files are being completed" in said.getvalue()
