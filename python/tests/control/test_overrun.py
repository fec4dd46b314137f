# SPDX-License-Identifier: Apache-2.0
import random
from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.books import overrun_look
from rashpa.control.books.outcome import Outcome
from rashpa.control.books.overrun_look import Look, look_at, streams_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams import telegram
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.fake_source import MISSING, FakeSource
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import Table, run_file

pytestmark = pytest.mark.whole


def run_text(frames: int | str, policy: str, nodes: Table, buffer: Table | None) -> str:
    full = {"name": "full", **(buffer or {}), "sink": [{"kind": "null"}]}
    return run_file(
        run={"name": "fast", "frames": frames, "on_overrun": policy},
        detector={"width": 32, "height": 16, "rate_hz": 400.0, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 16}]},
        dataset={"modules": 2},
        link={"on_full": "skip"},
        **{"receiver": None, **nodes, "buffer": [*nodes.get("buffer", []), full]},
    )


ONE: Table = {"receiver": {"port": 0}}
TWO: Table = {**ONE, "emulator": [{"name": "left", "modules": [0]}, {"name": "right", "modules": [1]}]}


class SkippingSource(FakeSource):
    """A source in which half of the images find no free slot while its ordered rate is above 150 frames/s."""

    skipped = 0
    held: list[int]

    def pause(self, frame: int = 0) -> None:
        self.__dict__.setdefault("held", []).append(frame)
        super().pause(frame)

    def status(self) -> telegram.SourceStatus:
        status = super().status()
        share = self.skipped // len(status.dtps)
        return replace(
            status,
            dtps=tuple(replace(dtp, images_sent=dtp.images_sent - share, images_skipped=share) for dtp in status.dtps),
        )

    def _send_image(self, dtp: telegram.SourceDtp, frame: int, dice: random.Random) -> None:
        if self._rate_hz <= 150.0 or frame % 2:
            super()._send_image(dtp, frame, dice)
            return
        self.skipped += 1
        self._sent[dtp.id] += 1
        self._fates[dtp.id].append(MISSING)


class SkippingFactory(FakeFactory):
    def __init__(self, role: str) -> None:
        super().__init__(role)
        self.made: list[SkippingSource] = []

    def make(self, order: telegram.Configure):  # type: ignore[no-untyped-def]
        assert order.source is not None
        self.made.append(SkippingSource(order.source))
        return self.made[-1]


def plan_of(tmp_path: Path, policy: str, frames: int | str, nodes: Table = ONE, buffer: Table | None = None) -> Plan:
    path = tmp_path / "run.toml"
    path.write_text(run_text(policy=policy, frames=frames, nodes=nodes, buffer=buffer))
    return load_plan(path)


def run(plan: Plan) -> tuple[Outcome, dict[str, SkippingFactory]]:
    factories = {emulator.name: SkippingFactory("emulator") for emulator in plan.emulators}
    nodes = {name: Node(name, "emulator", factory) for name, factory in factories.items()}
    nodes["receiver"] = Node("receiver", "receiver", FakeFactory("receiver"))
    return run_in_process(plan, nodes), factories


def test_sources_that_skip_are_slowed_down_to_what_fits_and_skip_no_more(tmp_path: Path) -> None:
    outcome, factories = run(plan_of(tmp_path, "slow", 400))
    assert outcome.good, (outcome.problem, outcome.reasons)
    assert [overrun.action for overrun in outcome.overruns] == ["slowed"] * len(outcome.overruns)
    first, last = outcome.overruns[0], outcome.overruns[-1]
    assert first.buffers == ("full",)
    assert first.old_rate_hz == 400.0
    assert 0.0 < last.new_rate_hz <= 150.0
    assert outcome.sources["emulator"].rate_hz == last.new_rate_hz
    assert sum(overrun.skipped for overrun in outcome.overruns) == outcome.images_skipped > 0
    assert outcome.books.missing > 0
    assert factories["emulator"].made[0].held == [0] * len(outcome.overruns)
    assert "the sources were paused for" in first.text


def test_several_sources_pause_at_one_frame_that_of_the_foremost(tmp_path: Path) -> None:
    outcome, factories = run(plan_of(tmp_path, "slow", 400, TWO))
    assert outcome.good, (outcome.problem, outcome.reasons)
    left, right = (factories[name].made[0].held for name in ("left", "right"))
    assert left == right
    assert left[::2] == [0] * len(outcome.overruns)  # where each is, and then where the foremost of them is
    assert left[1] >= outcome.overruns[0].frame - 1


def test_an_overrun_is_counted_once_for_the_run_and_changes_nothing(tmp_path: Path) -> None:
    outcome, _ = run(plan_of(tmp_path, "count", 400))
    assert outcome.good, (outcome.problem, outcome.reasons)
    (overrun,) = outcome.overruns
    assert overrun.action == "counted"
    assert outcome.sources["emulator"].rate_hz == 400.0
    assert overrun.text.endswith("counted, nothing was changed")
    assert overrun.skipped == outcome.images_skipped > 0


def test_sources_are_stopped_and_the_books_say_what_never_came(tmp_path: Path) -> None:
    outcome, _ = run(plan_of(tmp_path, "stop", 100_000))
    assert not outcome.good
    assert outcome.balanced
    assert not outcome.problem
    assert outcome.unexplained == 0
    assert outcome.frames == outcome.books.expected < 100_000
    assert outcome.stopped_by == "run.on_overrun"
    assert [overrun.action for overrun in outcome.overruns] == ["stopped"]
    assert outcome.reasons[-1].startswith("run.on_overrun: overrun of full after ")
    assert outcome.reasons[-1].endswith("; the sources were stopped")


def test_a_source_that_is_slowed_down_in_vain_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rashpa.control.books.overrun._MOST_TIMES", 1)
    monkeypatch.setattr("rashpa.control.books.overrun._MARGIN", 100.0)
    outcome, _ = run(plan_of(tmp_path, "slow", 100_000))
    assert [overrun.action for overrun in outcome.overruns] == ["slowed", "stopped"]
    assert outcome.overruns[0].new_rate_hz == 360.0
    assert outcome.balanced


def test_a_run_without_an_overrun_says_nothing(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "slow", 100)
    nodes = {
        "emulator": Node("e", "emulator", FakeFactory("emulator")),
        "receiver": Node("r", "receiver", FakeFactory("receiver")),
    }
    outcome = run_in_process(plan, nodes)
    assert outcome.good
    assert outcome.overruns == []


def test_a_run_until_stopped_is_stopped_after_the_same_frame_everywhere(tmp_path: Path) -> None:
    outcome, _ = run(plan_of(tmp_path, "stop", "until stopped", TWO))
    assert not outcome.problem
    assert outcome.balanced
    assert outcome.unexplained == 0
    assert [overrun.action for overrun in outcome.overruns] == ["stopped"]
    assert len({len(fates) for fates in outcome.fates.values()}) == 1
    assert outcome.books.expected == outcome.frames > 0
    assert outcome.reasons[-1].startswith("run.on_overrun: overrun of full after ")


def test_a_card_keeps_its_rate_and_a_run_file_that_would_slow_it_down_is_refused(tmp_path: Path) -> None:
    card = {**ONE, "emulator": [{"name": "detector", "engine": "fpga", "card": "sim"}]}
    with pytest.raises(
        RunFileError, match=r'run\.on_overrun.*emulator detector is a card, which keeps its rate.*use "stop" or "count"'
    ):
        plan_of(tmp_path, "slow", 100, card)
    assert plan_of(tmp_path, "stop", 100, card).file.run.on_overrun == "stop"


GROUP: Table = {
    "receiver": [{"name": "a", "port": 0}, {"name": "b", "port": 0}, {"name": "c", "port": 0}],
    "group": [{"name": "farm", "receivers": ["a", "b"]}],
    "buffer": [{"name": "dealt", "group": "farm", "every": 2, "sink": [{"kind": "null"}]}],
}


def look(plan: Plan, skipped: int, lost: int, written: tuple[int, ...], at: float) -> Look:
    """Return a snapshot after statuses with these counts of a group, its members and a single receiver."""
    status = telegram.GroupStatus(
        name="farm", fresh=sum(written[:2]), waiting=0, resent=0, duplicates=0, lost=0, skipped=skipped, settled=False
    )
    alone = next(buffer for buffer in plan.buffers if buffer.section.name == "full").dtps[0].id
    dtps = (
        telegram.SourceDtpStatus(
            id=alone,
            images_sent=written[2],
            images_skipped=1,
            payload_bytes=0,
            packets=0,
            waits=0,
            window_timeouts=0,
            late_ns=0,
            cnps_received=0,
            images_due=written[2] + 1,
        ),
    )
    source = telegram.SourceStatus(elapsed_s=1.0, dtps=dtps, groups=(status,))
    last = {"emulator": telegram.Status(node="emulator", role="emulator", state="running", source=source)}
    for name, buffer, count in zip("abc", ("dealt_a", "dealt_b", "full"), written, strict=True):
        loss = (telegram.Count(group="loss", name="overrun", value=lost),)
        dtp = telegram.DestinationDtpStatus(
            id=0, module=0, expected=count, complete=count, partial=0, missing=0, lines_missing=0, counts=loss
        )
        known = telegram.BufferStatus(
            name=buffer,
            sink_error="",
            unit="",
            unit_error="",
            bytes_written=0,
            bytes_stored=0,
            books=telegram.Books(written=count),
            dtps=(dtp,),
        )
        destination = telegram.DestinationStatus(
            receiver=name, elapsed_s=1.0, memory="pageable", first_incomplete="", counts=(), buffers=(known,)
        )
        last[name] = telegram.Status(node=name, role="receiver", state="running", destination=destination)
    return replace(look_at(plan, streams_of(plan), last), at=at)


def test_a_group_keeps_up_as_a_whole_and_is_overrun_only_when_nobody_has_room(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "slow", 1000, GROUP, {"receiver": "c"})
    streams = {stream.name: stream for stream in streams_of(plan)}
    assert list(streams) == ["full", "group farm"]
    before = look(plan, 0, 0, (10, 0, 10), at=1.0)
    assert not look(plan, 0, 0, (10, 50, 10), at=2.0).worse_than(before)  # one member stands still, the other has room
    after = look(plan, 3, 0, (20, 50, 50), at=3.0)
    assert after.worse_than(before) == ("group farm",)
    assert after.skipped["group farm"] == 3 * 2  # images of two modules' DTPs
    assert after.fit_hz(before, [streams["group farm"]]) == pytest.approx(60 / 2.0 * 2)
    assert after.fit_hz(before, streams.values()) == pytest.approx(40 / 2.0)
    assert after.frames == 70 * 2
    lost = look(plan, 3, 4, (20, 50, 50), at=4.0)
    assert lost.worse_than(after) == ("full",)  # credits hold back what a member has no room for


@pytest.mark.parametrize(
    ("books", "sinks", "through"),
    [
        (telegram.Books(accepted=50, written=50), (), 50),
        (telegram.Books(accepted=50, written=40, vetoed=10, errored=30), (), 80),
        (telegram.Books(errored=100), (), 100),  # a kernel errors: what it was given needs no slot any more
        (telegram.Books(accepted=50, written=0), ((50, 0, 0, 45),), 45),  # a sink errors
        (telegram.Books(accepted=50, written=5), ((50, 5, 40, 0), (50, 50, 0, 0)), 45),  # the slowest sink drops
    ],
)
def test_an_image_is_through_however_it_ends(
    books: telegram.Books, sinks: tuple[tuple[int, int, int, int], ...], through: int
) -> None:
    known = tuple(
        telegram.SinkStatus(
            name="s",
            on_full="wait",
            accepted=accepted,
            written=written,
            dropped=dropped,
            errored=errored,
            waiting=0,
            bytes_written=0,
            bytes_stored=0,
            error="",
        )
        for accepted, written, dropped, errored in sinks
    )
    assert (
        overrun_look.through(
            telegram.BufferStatus(
                name="full",
                sink_error="",
                unit="",
                unit_error="",
                bytes_written=0,
                bytes_stored=0,
                books=books,
                sinks=known,
            )
        )
        == through
    )
