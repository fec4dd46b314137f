# SPDX-License-Identifier: Apache-2.0
"""Rates in an outcome: they count frames that came, not frames that were expected."""

from pathlib import Path

import pytest

from rashpa.cli.run.run_display import _rate_caution
from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import (
    Books,
    BufferStatus,
    DestinationStatus,
    SourceDtpStatus,
    SourceStatus,
    Status,
)
from rashpa.testing.run_file import run_file

RUN = run_file(
    run={"name": "r", "frames": 20000},
    detector={"rate_hz": 200.0},
    buffer=[{"name": "full", "sink": [{"kind": "null"}]}, {"name": "tenth", "every": 10, "sink": [{"kind": "null"}]}],
    receiver=None,
)


def outcome(tmp_path: Path, full: Books, tenth: Books, skipped: int = 0, problem: str = "") -> Outcome:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    buffers = tuple(
        BufferStatus(name=name, sink_error="", unit="", unit_error="", bytes_written=0, bytes_stored=0, books=books)
        for name, books in (("full", full), ("tenth", tenth))
    )
    made = Outcome(load_plan(path), problem=problem)
    made.receivers["receiver"] = Status(
        node="receiver",
        role="receiver",
        state="finished",
        destination=DestinationStatus(
            receiver="receiver", elapsed_s=5.0, memory="", first_incomplete="", counts=(), buffers=buffers
        ),
    )
    source = SourceStatus(
        elapsed_s=5.0,
        counts=(),
        dtps=(
            SourceDtpStatus(
                id=0,
                images_sent=1000,
                images_skipped=skipped,
                payload_bytes=0,
                packets=0,
                waits=0,
                window_timeouts=0,
                late_ns=0,
                cnps_received=0,
            ),
        ),
    )
    made.emulators["emulator"] = Status(node="emulator", role="emulator", state="finished", source=source)
    return made


def test_an_interrupted_run_is_as_fast_as_its_frames_came(tmp_path: Path) -> None:
    full = Books(expected=20000, complete=900, partial=10, missing=19090, accepted=910, written=910)
    tenth = Books(expected=2000, complete=91, missing=1909, accepted=91, written=91)
    made = outcome(tmp_path, full, tenth, problem="interrupted")
    assert made.rates.frames_per_s == pytest.approx(910 / 5.0)
    assert made.rates.images_per_s == pytest.approx(1001 / 5.0)
    assert _rate_caution(made) == "", "it says already that it was interrupted"


def test_a_buffer_that_takes_every_tenth_frame_stands_for_ten(tmp_path: Path) -> None:
    made = outcome(tmp_path, Books(expected=20000, missing=20000), Books(expected=2000, complete=80, missing=1920))
    assert made.rates.frames_per_s == pytest.approx(800 / 5.0)


@pytest.mark.parametrize(
    ("full", "skipped", "says"),
    [
        (Books(complete=600, missing=180, accepted=600), 0, "120 frames/s came: 180 images are missing"),
        (Books(complete=590, partial=10), 0, "120 frames/s came: 10 images are partial"),
        (Books(complete=600), 40, "120 frames/s came: 40 images of DTPs were skipped by the emulator"),
        (Books(complete=600), 0, "120 frames/s came. Nothing was lost: the emulator waited"),
        (Books(complete=1000), 0, ""),
    ],
)
def test_nothing_was_lost_is_said_only_when_nothing_was(tmp_path: Path, full: Books, skipped: int, says: str) -> None:
    said = _rate_caution(outcome(tmp_path, full, Books(complete=1), skipped))
    assert said == (f"200 Hz were planned; {says}" if says else "")
