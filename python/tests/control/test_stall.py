"""What counts as news of a run, and how long it may be without any."""

from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control import stall, telegram
from rashpa.control.receivers import EMULATOR
from rashpa.control.run_plan import Plan, load_plan
from rashpa.control.stall import StallWatch
from rashpa.control.telegram import Status

RUN = """\
[run]
name = "r"
frames = 100
[detector]
width = 64
height = 32
[dataset]
kind = "pattern"
width = 64
height = 32
[[buffer]]
name = "full"
deadline_ms = 500
"""


class Watched:
    """A run of one receiver as its manager sees it, on a clock of its own."""

    def __init__(self, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(stall.time, "monotonic", lambda: self.now)
        (self.name,) = (receiver.name for receiver in plan.receivers)
        dtp = telegram.SourceDtpStatus(plan.dtps[0].id, 5, 0, 0, 0, 0, 0, 0, 0)
        buffer = telegram.BufferStatus("full", "", "", "", 0, 0, telegram.Books(expected=100))
        counts = (telegram.Count("link", "packets", 0),)
        self.source = telegram.SourceStatus(0.0, dtps=(dtp,))
        self.destination = telegram.DestinationStatus(self.name, 0.0, "", "", counts, (buffer,))
        self.watch = StallWatch(plan)

    def stalled_after(self, seconds: float) -> bool:
        self.now += seconds
        last = {
            EMULATOR: Status(EMULATOR, "emulator", "running", source=self.source),
            self.name: Status(self.name, "receiver", "running", destination=self.destination),
        }
        return self.watch.stalled(last, [EMULATOR]) is not None

    def count(self, packets: int) -> None:
        """Packets went to and fro, and no image came of it."""
        (dtp,) = self.source.dtps
        repeated = replace(dtp, packets=packets, rnr_naks=packets, retransmitted_packets=packets)
        self.source = replace(self.source, dtps=(repeated,))
        self.destination = replace(self.destination, counts=(telegram.Count("link", "packets", packets),))


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    return Watched(load_plan(path), monkeypatch)


def test_a_link_that_only_repeats_itself_is_a_stall(watched: Watched) -> None:
    assert not watched.stalled_after(0)
    stalled = False
    for second in range(60):
        watched.count(1_000_000 * second)
        stalled = stalled or watched.stalled_after(1)
    assert stalled


def test_an_image_that_is_sent_skipped_decided_or_written_is_news(watched: Watched) -> None:
    assert not watched.stalled_after(0)
    (dtp,) = watched.source.dtps
    (buffer,) = watched.destination.buffers
    decided = telegram.DestinationDtpStatus(0, 0, 100, 1, 0, 0, 0)
    for source, destination in (
        (replace(dtp, images_sent=6), buffer),
        (replace(dtp, images_sent=6, images_skipped=1), buffer),
        (dtp, replace(buffer, dtps=(decided,))),
        (dtp, replace(buffer, books=telegram.Books(expected=100, complete=1))),
        (dtp, replace(buffer, books=telegram.Books(expected=100, complete=1, accepted=1, written=1))),
    ):
        watched.source = replace(watched.source, dtps=(source,))
        watched.destination = replace(watched.destination, buffers=(destination,))
        assert not watched.stalled_after(20)
    assert watched.stalled_after(20)
