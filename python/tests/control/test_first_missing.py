# SPDX-License-Identifier: Apache-2.0
"""The report on the first image that a run lacks."""

import time
from pathlib import Path

from rashpa.control.books.first_missing import first_missing
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import Books, BufferStatus, DestinationDtpStatus, DestinationStatus, Status
from rashpa.testing.group_plan import plan_of as dealt_plan
from rashpa.testing.run_file import run_file

TWO = run_file(
    run={"name": "r", "frames": 800},
    receiver=[{"name": "a", "port": 0}, {"name": "b", "port": 0}],
    buffer=[
        {"name": "one", "receiver": "a", "sink": [{"kind": "null"}]},
        {"name": "two", "receiver": "b", "every": 10, "phase": 3, "sink": [{"kind": "null"}]},
    ],
)


def plan_of(tmp_path: Path, text: str = TWO) -> Plan:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return load_plan(path)


def status(receiver: str, buffer: str, books: Books, first: str = "", came: tuple[int, ...] = ()) -> Status:
    dtps = tuple(
        DestinationDtpStatus(
            id=module, module=module, expected=800, complete=count, partial=0, missing=0, lines_missing=0
        )
        for module, count in enumerate(came)
    )
    known = BufferStatus(
        name=buffer,
        sink_error="",
        unit="",
        unit_error="",
        bytes_written=0,
        bytes_stored=0,
        books=books,
        dtps=dtps,
    )
    destination = DestinationStatus(
        receiver=receiver, elapsed_s=1.0, memory="", first_incomplete=first, counts=(), buffers=(known,)
    )
    return Status(node=receiver, role="receiver", state="running", destination=destination)


def test_a_line_for_each_receiver_and_that_of_the_lost_one_first(tmp_path: Path) -> None:
    last = {
        "a": status("a", "one", Books(expected=800, complete=7), first="what the lane has found"),
        "b": status("b", "two", Books(expected=80, complete=5), first="never said of a lost one"),
    }
    lines = first_missing(plan_of(tmp_path), last, {"b": time.monotonic() - 90.0}, "b").splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("first missing image of receiver b: buffer two image 5 (frame 53), as last heard 9")
    assert lines[1] == "first missing image of receiver a: what the lane has found"


def test_the_modules_that_an_image_waits_for_are_named(tmp_path: Path) -> None:
    last = {
        "a": status("a", "one", Books(expected=800, complete=7), came=(7, 9, 8)),
        "b": status("b", "two", Books(expected=80, complete=80)),
    }
    said = first_missing(plan_of(tmp_path), last, {}, "")
    assert said == "first missing image of receiver a: buffer one image 7 (frame 7), which waits for module 0 and 2"


def test_what_is_whole_lacks_nothing_and_what_never_spoke_lacks_all(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    whole = {
        "a": status("a", "one", Books(expected=800, complete=800)),
        "b": status("b", "two", Books(expected=80, complete=70, partial=5, missing=5)),
    }
    assert first_missing(plan, whole, {}, "") == "no image is missing"
    mute = Status(node="a", role="receiver", state="running")
    never = "first missing image of receiver a: 0 of every buffer; the receiver was lost before it said anything"
    assert first_missing(plan, {"b": whole["b"]}, {}, "a") == never
    assert first_missing(plan, whole | {"a": mute}, {}, "") == never


def test_a_member_of_a_group_says_no_frame_since_any_may_be_dealt_to_it(tmp_path: Path) -> None:
    last = {name: status(name, f"full_{name}", Books(expected=5, complete=2)) for name in ("a", "b")}
    lines = first_missing(dealt_plan(tmp_path), last, {}, "").splitlines()
    assert [line.partition(": ")[2] for line in lines] == ["buffer full_a image 2", "buffer full_b image 2"]


def test_one_receiver_needs_no_name(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, run_file(run={"name": "r", "frames": 800}, receiver=None))
    (receiver,) = plan.receivers
    (buffer,) = plan.buffers
    last = {receiver.name: status(receiver.name, buffer.section.name, Books(expected=800, complete=1))}
    assert first_missing(plan, last, {}, "") == f"first missing image: buffer {buffer.section.name} image 1 (frame 1)"
