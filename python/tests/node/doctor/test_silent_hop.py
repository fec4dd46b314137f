# SPDX-License-Identifier: Apache-2.0
"""The first hop that forwards nothing is named, whatever later hops report."""

from dataclasses import replace
from typing import Any

import pytest

from rashpa.control.telegrams.telegram import Books, Count, DestinationStatus, SourceStatus, Status
from rashpa.control.telegrams.telegram_status import BufferStatus, SourceDtpStatus
from rashpa.node.doctor.silent_hop import Look, silent_hop

Counts = dict[str, int]


def emulator(sent: int, state: str = "running", **counts: int) -> Status:
    zeros = dict.fromkeys(("images_skipped", "packets", "waits", "window_timeouts", "late_ns", "cnps_received"), 0)
    dtp = SourceDtpStatus(id=0, images_sent=sent, payload_bytes=100 * sent, **zeros)
    told = tuple(Count(group="trigger", name=name, value=value) for name, value in counts.items())
    return Status(node="em", role="emulator", state=state, source=SourceStatus(elapsed_s=1.0, dtps=(dtp,), counts=told))


def receiver(link: Counts | None = None, to_write: int = 0, **books: int) -> Status:
    """Return the status of the node `rx` with one buffer of eight slots."""
    names = ("expected", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written")
    known = Books(**{name: books.get(name, 0) for name in names})
    buffer = BufferStatus(
        name="full", sink_error="", unit="", unit_error="", bytes_written=0, bytes_stored=0, books=known, to_write=to_write, slots=8
    )  # fmt: skip
    counts = tuple(Count(group="link", name=name, value=value) for name, value in (link or {}).items())
    place = DestinationStatus(
        receiver="rx", elapsed_s=1.0, memory="huge", first_incomplete="", counts=counts, buffers=(buffer,)
    )
    return Status(node="rx", role="receiver", state="running", destination=place)


TAKEN: Counts = {"packets": 900, "payload_bytes": 9000, "events": 9}
GOING = emulator(10)
# the looks: nodes now, interfaces now, drops now (before: nothing of all), and words of the sentence
CASES: dict[str, tuple[list[Status], Counts, dict[int, int], str]] = {
    "paused": ([emulator(0, "paused"), receiver()], {}, {}, "em does not send: it is paused; rashpa resume"),
    "not begun": ([emulator(0, "armed"), receiver()], {}, {}, "it is armed; the run has not begun"),
    "no trigger": ([emulator(0, accepted=0, refused=0), receiver()], {}, {}, "waits for triggers, and none has come"),
    "no slot": ([emulator(0), receiver(to_write=8)], {}, {}, "buffer full has no free slot"),
    "no credit": ([emulator(0), receiver()], {}, {}, "their windows are full, or no credits come back"),
    "no receiver": ([GOING], {}, {}, "no receiver answers"),
    "elsewhere": ([GOING, receiver()], {}, {}, "run rashpa doctor on its machine"),
    "cable": ([GOING, receiver()], {"eth7": 0}, {}, "no packet comes to eth7: cable"),
    "firewall": ([GOING, receiver()], {"eth7": 80}, {4791: 0}, "80 packets come to eth7 and none to a receiver's port"),
    "socket": ([GOING, receiver()], {"eth7": 80}, {4791: 80}, "80 packets were dropped at the socket of port 4791"),
    "key": ([GOING, receiver({"packets": 7, "refused_key": 7})], {}, {}, "refused: 7 have a wrong key"),
    "foreign": ([receiver({"packets": 7, "malformed": 7})], {}, {}, "7 are no packets of this link"),
    "no event": ([GOING, receiver(TAKEN)], {}, {}, "taken and no image ends: its events do not come"),
    "lost lines": ([GOING, receiver(TAKEN, partial=9, accepted=9)], {}, {}, "no image of buffer full is complete"),
    "kernel": ([GOING, receiver(TAKEN, complete=9, errored=9)], {}, {}, "is errored: its kernel fails; see the log of rx"),
    "veto": ([GOING, receiver(TAKEN, complete=9, vetoed=9)], {}, {}, "every image of buffer full is vetoed"),
    "disk": ([GOING, receiver(TAKEN, complete=9, accepted=9, to_write=8)], {}, {}, "wait for its sinks: the disk"),
    "flow": ([GOING, receiver(TAKEN, complete=9, accepted=9, written=9)], {}, {}, "data flow: 9 images were decided"),
    "some refused": ([GOING, receiver(TAKEN | {"refused_key": 4}, complete=9, accepted=9, written=9)], {}, {}, "data flow"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_the_first_hop_that_passes_nothing_on_is_named(case: str) -> None:
    nodes, arrived, dropped, words = CASES[case]
    states = {status.node: status.state for status in nodes}
    earlier = [
        replace(status, state=states[status.node]) for status in (emulator(0), receiver()) if status.node in states
    ]
    before = Look(tuple(earlier), dict.fromkeys(arrived, 0), dict.fromkeys(dropped, 0))
    assert words in silent_hop(before, Look(tuple(nodes), arrived, dropped))


def test_counts_of_earlier_are_not_taken_for_news() -> None:
    """Check a run that had data and has stopped: all counters are high, and none increases."""
    nodes: tuple[Any, ...] = (emulator(10), receiver(TAKEN, complete=9, accepted=9, written=9))
    before = Look(nodes, {"eth7": 80}, {4791: 5})
    assert "send nothing" in silent_hop(before, before)
    moved = (emulator(20), nodes[1])
    assert "no packet comes to eth7" in silent_hop(before, Look(moved, {"eth7": 80}, {4791: 5}))
