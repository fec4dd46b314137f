# SPDX-License-Identifier: Apache-2.0
"""The lines at the end of a run: its faults, and the cautions of a good one."""

from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.control.books.overrun import Overrun
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import (
    Books,
    BufferStatus,
    Count,
    DestinationStatus,
    SinkStatus,
    SourceStatus,
    Status,
)
from rashpa.control.telegrams.telegram_status import FirstErrored
from rashpa.testing.run_file import run_file

FOREIGN = """
[run]
name = "foreign"
frames = 100
output = "out"
[detector]
width = 1024
height = 512
[detector.control]
kind = "none"
[link]
kind = "sls"
[[buffer]]
name = "full"
slots = 16
stack = 2
deadline_ms = 100
sink = [{ kind = "null" }]
"""
PLAYED = run_file(run={"name": "r", "frames": 100}, buffer={"name": "full"}, receiver=None)
GOOD = Books(expected=100, complete=100, accepted=100, written=100)


def outcome(tmp_path: Path, text: str, buffer: BufferStatus, **counts: int) -> Outcome:
    path = tmp_path / "run.toml"
    path.write_text(text)
    made = Outcome(load_plan(path))
    destination = DestinationStatus(
        receiver="receiver",
        elapsed_s=2.0,
        memory="",
        first_incomplete="",
        counts=tuple(Count(group="link", name=name, value=value) for name, value in counts.items()),
        buffers=(buffer,),
    )
    made.receivers["receiver"] = Status(node="receiver", role="receiver", state="finished", destination=destination)
    return made


def of_buffer(books: Books = GOOD, sinks: tuple[SinkStatus, ...] = (), sink_error: str = "") -> BufferStatus:
    return BufferStatus(
        name="full",
        sink_error=sink_error,
        unit="",
        unit_error="",
        bytes_written=0,
        bytes_stored=0,
        books=books,
        sinks=sinks,
    )


def test_a_detector_of_which_nothing_came_says_which_datagrams_did(tmp_path: Path) -> None:
    nothing = of_buffer(Books(expected=100, missing=100))
    made = outcome(tmp_path, FOREIGN, nothing, packets=1234, wrong_port=1000, late_packets=0, malformed=3)
    assert made.reasons == (
        "no image came, of 100 expected; 1,234 datagrams did; "
        "3 of another size, detector or version, 1,000 of another port",
    )
    assert made.all_cautions == ()
    assert outcome(tmp_path, FOREIGN, of_buffer(), packets=5).reasons == ()
    assert outcome(tmp_path, PLAYED, nothing, packets=5).reasons == (), "its log says what was lost"


@pytest.mark.parametrize(
    ("books", "dropped", "said"),
    [
        (
            Books(expected=100, complete=90, partial=10),
            0,
            "10 images are partial and 0 missing, of 100; none was dropped",
        ),
        (
            Books(expected=100, complete=90, missing=10),
            7,
            "0 images are partial and 10 missing, of 100; this host dropped 7",
        ),
        (GOOD, 7, ""),
    ],
)
def test_losses_of_a_detector_without_a_log_are_cautions(tmp_path: Path, books: Books, dropped: int, said: str) -> None:
    cautions = outcome(tmp_path, FOREIGN, of_buffer(books), host_drops=dropped).all_cautions
    assert [caution.startswith(said) for caution in cautions] == ([True] if said else [])
    assert outcome(tmp_path, PLAYED, of_buffer(books), host_drops=dropped).all_cautions == ()


def test_an_overrun_that_stopped_the_run_is_a_fault_and_any_other_a_caution(tmp_path: Path) -> None:
    overrun = Overrun(1.0, ("full",), 50, 3, 0, "stopped", 100.0)
    stopped = outcome(tmp_path, PLAYED, of_buffer())
    stopped.overruns = [overrun]
    assert stopped.reasons == (f"run.on_overrun: {overrun.text}",)
    assert stopped.all_cautions == ()
    overrun = replace(overrun, action="slowed")
    slowed = outcome(tmp_path, PLAYED, of_buffer())
    slowed.overruns = [overrun]
    assert slowed.reasons == ()
    assert slowed.all_cautions == (overrun.text,)


def test_losses_are_said_of_each_sink_where_there_are_several(tmp_path: Path) -> None:
    def sink(name: str, errored: int, first: FirstErrored | None = None) -> SinkStatus:
        return SinkStatus(
            name=name,
            on_full="wait",
            accepted=100,
            written=100 - errored,
            dropped=0,
            errored=errored,
            waiting=0,
            bytes_written=0,
            bytes_stored=0,
            error="",
            first=first,
        )

    bad = sink("hdf5", 4, FirstErrored(index=2, frame=7, reason="storage", text="disk full"))
    both = outcome(tmp_path, PLAYED, of_buffer(sinks=(sink("raw", 0), bad)))
    assert both.reasons == (
        "buffer full: sink hdf5 lost 4 of 100 images; the first: image 2 (frame 7), storage: disk full",
    )
    assert outcome(tmp_path, PLAYED, of_buffer(sinks=(bad,))).reasons == (), "the books of the buffer are its own"


def test_the_error_of_a_sink_is_said_once(tmp_path: Path) -> None:
    assert outcome(tmp_path, PLAYED, of_buffer(sink_error="disk full")).reasons == ("buffer full: disk full",)
    unwritten = of_buffer(replace(GOOD, written=90), sink_error="disk full")
    assert outcome(tmp_path, PLAYED, unwritten).reasons == (
        "buffer full: 10 accepted images are not written: disk full",
    )
    astray = of_buffer(replace(GOOD, accepted=90, written=90))
    assert outcome(tmp_path, PLAYED, astray).reasons == ("buffer full: the books do not balance",)


def test_frames_are_those_of_the_file_or_those_that_had_their_turn(tmp_path: Path) -> None:
    made = outcome(tmp_path, PLAYED, of_buffer())
    assert made.frames == 100
    made.stopped_by = "somebody"
    assert made.frames == 0, "no emulator has said anything"
    made.emulators["emulator"] = Status(node="emulator", role="emulator", state="finished")
    assert (made.sources, made.frames) == ({}, 0)
    source = SourceStatus(elapsed_s=1.0, frames_begun=42)
    made.emulators["emulator"] = Status(node="emulator", role="emulator", state="finished", source=source)
    assert made.sources == {"emulator": source}
    assert made.frames == 42
    foreign = outcome(tmp_path, FOREIGN, of_buffer(Books(expected=30, complete=30)))
    foreign.stopped_by = "somebody"
    assert foreign.frames == 30


def test_the_rate_of_pixels_is_that_of_the_payload(tmp_path: Path) -> None:
    assert outcome(tmp_path, PLAYED, of_buffer(), payload_bytes=3_000_000_000).rates.payload_gb_per_s == 1.5
    assert outcome(tmp_path, PLAYED, of_buffer()).rates.payload_gb_per_s == 0.0
