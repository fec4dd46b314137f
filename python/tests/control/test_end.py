# SPDX-License-Identifier: Apache-2.0
"""The end of a run: its time, its frame, and the messages to its receivers and the requester."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.control.handover.journal import Journal
from rashpa.control.handover.stop_request import StopAnswer, StopRequest, request_path
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.end import EndOfRun, end_sources, images_come, never_early
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import (
    Books,
    BufferStatus,
    DestinationDtpStatus,
    DestinationStatus,
    SourceDtpStatus,
    SourceStatus,
    Status,
)
from rashpa.testing.group_plan import plan_of as dealt_plan
from rashpa.testing.run_file import Table, run_file
from rashpa.testing.scripted_client import ScriptedClient, silent

TWO: dict[str, Any] = {
    "detector": {"width": 8, "height": 4, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 4}]},
    "dataset": {"modules": 2},
    "emulator": [{"name": "upper"}, {"name": "lower"}],
    "receiver": [{"name": "one", "port": 0}],
    "buffer": [
        {"name": "full", "stack": 1, "slots": 4, "sink": [{"kind": "null"}]},
        {"name": "third", "stack": 1, "slots": 4, "every": 3, "phase": 1, "sink": [{"kind": "null"}]},
    ],
}
"""20 frames: 20 images of two DTPs, and 7 (frames 1, 4, … 19) of two others."""


def plan_of(folder: Path, **tables: Table) -> Plan:
    path = folder / "two.toml"
    path.write_text(run_file(**{**TWO, **tables}))
    return load_plan(path)


def foreign_plan(folder: Path) -> Plan:
    """Return the plan of 20 frames of a detector that sends by itself, into two buffers."""
    path = folder / "foreign.toml"
    path.write_text(
        run_file(
            detector={"width": 1024, "height": 512, "control": {"kind": "none"}},
            dataset=None,
            link={"kind": "sls"},
            receiver=[{"name": "one"}, {"name": "other"}],
            buffer=[
                {"name": "full", "receiver": "one", "slots": 16, "stack": 2, "sink": [{"kind": "null"}]},
                {
                    "name": "third",
                    "receiver": "other",
                    "slots": 16,
                    "stack": 2,
                    "every": 3,
                    "phase": 1,
                    "sink": [{"kind": "null"}],
                },
            ],
        )
    )
    return load_plan(path)


def source_of(begun: int, due: dict[int, int]) -> SourceStatus:
    """Return the status of a source. `due`: images by DTP; the source has sent one less."""
    return SourceStatus(
        elapsed_s=1.0,
        frames_begun=begun,
        dtps=tuple(
            SourceDtpStatus(
                id=dtp,
                images_sent=images - 1,
                images_skipped=0,
                images_due=images,
                payload_bytes=0,
                packets=0,
                waits=0,
                window_timeouts=0,
                late_ns=0,
                cnps_received=0,
            )
            for dtp, images in due.items()
        ),
    )


def images_of(order: telegram.Stop) -> dict[int, int]:
    return {end.dtp: end.images for end in order.ends}


class TestWhen:
    def test_a_run_of_known_length_ends_when_that_is_wanted(self, tmp_path: Path) -> None:
        end = EndOfRun(plan_of(tmp_path), None)
        assert (end.wanted, end.by, end.early, end.due(1e6)) == (False, "", False, False)
        end.begin()  # without a journal there is no request to forget
        end.want("somebody")
        assert (end.wanted, end.by, end.early, end.due(0.0)) == (True, "somebody", True, True)

    def test_a_run_without_a_known_length_ends_early_in_any_case(self, tmp_path: Path) -> None:
        end = EndOfRun(plan_of(tmp_path, run={"frames": "until stopped"}), None)
        assert (end.wanted, end.early, end.due(1e6)) == (False, True, False)

    def test_a_run_of_a_duration_ends_with_it(self, tmp_path: Path) -> None:
        end = EndOfRun(plan_of(tmp_path, run={"frames": "until stopped", "duration_s": 2.5}), None)
        assert not end.due(2.4999)
        assert not end.wanted
        assert end.due(2.5)
        assert (end.wanted, end.by) == (True, "")


class TestRequests:
    @pytest.fixture
    def journal(self, tmp_path: Path) -> Journal:
        return Journal(tmp_path / "two_attach.json")

    def test_a_request_ends_the_run_and_has_its_result(self, tmp_path: Path, journal: Journal) -> None:
        plan = plan_of(tmp_path)
        end = EndOfRun(plan, journal)
        request = StopRequest(journal.path, "somebody")
        assert end.due(0.0)
        assert end.by == "somebody"
        outcome = Outcome(plan, problem="the disk is full", stopped_by="somebody")
        outcome.emulators["upper"] = Status(
            node="upper", role="emulator", state="finished", source=source_of(12, {0: 12})
        )
        books = Books(expected=12, complete=9, partial=1, missing=2, accepted=10, written=8)
        buffer = BufferStatus(
            name="full", sink_error="", unit="", unit_error="", bytes_written=0, bytes_stored=0, books=books
        )
        there = DestinationStatus(receiver="one", elapsed_s=1.0, memory="", first_incomplete="", buffers=(buffer,))
        outcome.receivers["one"] = Status(node="one", role="receiver", state="finished", destination=there)
        end.answer(outcome)
        assert request.answer() == StopAnswer(
            frames=12,
            planned=20,
            good=False,
            balanced=outcome.balanced,
            expected=12,
            complete=9,
            written=8,
            problem="the disk is full",
            reasons=outcome.reasons,
        )
        request.close()

    def test_a_run_until_stopped_has_no_planned_frames(self, tmp_path: Path, journal: Journal) -> None:
        plan = plan_of(tmp_path, run={"frames": "until stopped"})
        request = StopRequest(journal.path, "somebody")
        end = EndOfRun(plan, journal)
        end.answer(Outcome(plan))
        answer = request.answer()
        assert answer is not None
        assert answer.planned == 0
        request.close()

    def test_a_second_request_waits_for_the_result_of_the_first(self, tmp_path: Path, journal: Journal) -> None:
        end = EndOfRun(plan_of(tmp_path), journal)
        end.want("the program")
        request = StopRequest(journal.path, "somebody")
        assert end.due(0.0)
        assert end.by == "the program"
        request.close()

    def test_a_run_that_cannot_end_early_goes_on_and_says_why(self, tmp_path: Path, journal: Journal) -> None:
        plan = dealt_plan(tmp_path)
        end = EndOfRun(plan, journal)
        request = StopRequest(journal.path, "somebody")
        assert not end.due(0.0)
        assert (end.wanted, end.by) == (False, "")
        assert request.answer() == StopAnswer(refused=never_early(plan))
        request.close()

    def test_a_request_to_an_earlier_run_is_forgotten(self, tmp_path: Path, journal: Journal) -> None:
        left = request_path(journal.path)
        left.write_text(json.dumps({"by": "somebody long ago", "pid": 1, "identity": "none"}))
        end = EndOfRun(plan_of(tmp_path), journal)
        end.begin()
        assert not left.exists()
        assert not end.due(0.0)


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ({}, ""),
        ({"faults": {"reorder": 0.1}}, "the fault reorder needs the run's last frame"),
    ],
)
def test_the_last_frame_may_be_needed(tmp_path: Path, tables: dict[str, Table], why: str) -> None:
    assert never_early(plan_of(tmp_path, **tables)).partition(";")[0] == why


def test_a_card_and_a_dealer_play_all_frames(tmp_path: Path) -> None:
    assert never_early(dealt_plan(tmp_path)).startswith("images that are dealt to a group are as many")
    plan = plan_of(tmp_path)
    upper, lower = plan.emulators
    mixed = replace(plan, emulators=(upper, replace(lower, engine="fpga")))
    assert never_early(mixed).startswith("a card plays all frames that it was configured for")


class TestOrders:
    def test_a_run_to_its_last_frame_has_all_images(self, tmp_path: Path) -> None:
        plan = plan_of(tmp_path)
        orders = EndOfRun(plan, None).orders(["one"], [])
        full, third = plan.buffers
        assert images_of(orders["one"]) == {
            **{dtp.id: 20 for dtp in full.dtps},
            **{dtp.id: 7 for dtp in third.dtps},
        }

    def test_a_run_that_is_ended_early_has_the_images_that_its_emulators_had_due(self, tmp_path: Path) -> None:
        plan = plan_of(tmp_path)
        end = EndOfRun(plan, None)
        end.want()
        upper = [dtp.id for dtp in plan.dtps_from("upper")]
        lower = [dtp.id for dtp in plan.dtps_from("lower")]
        source = source_of(9, {upper[0]: 9, upper[1]: 3})
        heard = [
            Status(node="upper", role="emulator", state="finished", source=source),
            Status(node="lower", role="emulator", state="finished"),
        ]
        orders = end.orders(["one"], heard)
        assert list(orders) == ["one"]
        expected = {upper[0]: 9, upper[1]: 3, lower[0]: 0, lower[1]: 0}  # of the lower one nothing is known
        assert images_of(orders["one"]) == expected

    def test_of_a_detector_that_sends_by_itself_the_images_that_have_come_count(self, tmp_path: Path) -> None:
        plan = foreign_plan(tmp_path)
        end = EndOfRun(plan, None)
        full, third = plan.buffers
        heard = [came(plan, "one", {full.dtps[0].id: (5, 1, 2)})]
        assert images_of(end.orders(["one"], heard)["one"]) == {dtp.id: 20 for dtp in full.dtps}
        end.want()
        orders = end.orders(["one", "other"], heard)
        assert images_of(orders["one"]) == {dtp.id: 8 for dtp in full.dtps}
        assert images_of(orders["other"]) == {dtp.id: 3 for dtp in third.dtps}, "frames 1, 4 and 7"


def came(plan: Plan, receiver: str, images: dict[int, tuple[int, int, int]]) -> Status:
    """Return the status of a receiver with complete, partial and missing images of its DTPs."""
    buffers = tuple(
        BufferStatus(
            name=buffer.section.name,
            sink_error="",
            unit="",
            unit_error="",
            bytes_written=0,
            bytes_stored=0,
            books=Books(),
            dtps=tuple(
                DestinationDtpStatus(
                    id=dtp.id,
                    module=0,
                    expected=0,
                    complete=images[dtp.id][0],
                    partial=images[dtp.id][1],
                    missing=images[dtp.id][2],
                    lines_missing=0,
                )
                for dtp in buffer.dtps
                if dtp.id in images
            ),
        )
        for buffer in plan.buffers_of(receiver)
    )
    there = DestinationStatus(receiver=receiver, elapsed_s=1.0, memory="", first_incomplete="", buffers=buffers)
    return Status(node=receiver, role="receiver", state="running", destination=there)


@pytest.mark.parametrize(
    ("images", "full", "third"),
    [
        ({}, 0, 0),
        ({"third": (1, 0, 0)}, 2, 1),  # frame 1
        ({"third": (1, 1, 1)}, 8, 3),  # frame 7
        ({"third": (2, 0, 0), "full": (1, 0, 0)}, 5, 2),
        ({"full": (1, 0, 0)}, 1, 0),  # frame 0 alone, which the other takes no image of
        ({"full": (9, 2, 0)}, 11, 4),
    ],
)
def test_images_have_come_up_to_the_latest_frame_of_any_buffer(
    tmp_path: Path, images: dict[str, tuple[int, int, int]], full: int, third: int
) -> None:
    plan = plan_of(tmp_path)  # with two DTPs of each buffer
    of = {buffer.section.name: buffer for buffer in plan.buffers}
    known = {of[name].dtps[-1].id: counts for name, counts in images.items()}  # of one of its DTPs
    heard = [came(plan, "one", known), Status(node="x", role="receiver", state="idle")]
    assert images_come(plan, heard) == {
        **{dtp.id: full for dtp in of["full"].dtps},
        **{dtp.id: third for dtp in of["third"].dtps},
    }


class TestSources:
    """Emulators that must end at the same frame, and receivers that wait for it."""

    def ended(self, states: Sequence[tuple[str, int]]) -> tuple[int, list[tuple[str, telegram.Telegram]]]:
        told: list[tuple[str, telegram.Telegram]] = []
        clients = []
        for number, (state, begun) in enumerate(states):
            client = ScriptedClient(f"emulator {number}", "emulator", state)
            source = source_of(begun, {}) if begun >= 0 else None
            client.status_now = replace(client.status_now, source=source)
            client.hear = lambda order, name=client.name: told.append((name, order))  # type: ignore[misc]
            clients.append(client)
        receiver = ScriptedClient("receiver", "receiver")
        receiver.hear = lambda order: told.append(("receiver", order))
        frames = asyncio.run(end_sources(clients, [receiver]))
        return frames, told

    def test_all_pause_and_then_end_at_the_latest_frame_while_deadlines_are_held(self) -> None:
        frames, told = self.ended([("running", 7), ("paused", 9), ("running", -1)])
        assert frames == 9
        assert told[0] == ("receiver", telegram.HoldDeadlines(held=True))
        assert told[-1] == ("receiver", telegram.HoldDeadlines(held=False))
        emulators = ["emulator 0", "emulator 1", "emulator 2"]
        assert sorted(name for name, _ in told[1:4]) == sorted(name for name, _ in told[4:7]) == emulators
        assert {type(order) for _, order in told[1:4]} == {telegram.Pause}
        assert {order for _, order in told[4:7]} == {telegram.Stop(frames=9)}

    def test_one_that_has_finished_is_told_nothing_and_its_frames_count(self) -> None:
        frames, told = self.ended([("running", 7), ("finished", 20)])
        assert frames == 20
        assert [name for name, order in told if isinstance(order, telegram.Stop)] == ["emulator 0"]

    def test_nothing_was_begun(self) -> None:
        assert self.ended([("running", -1)])[0] == 0

    def test_deadlines_go_on_when_an_emulator_does_not_obey(self) -> None:
        emulator, receiver = ScriptedClient("emulator", "emulator"), ScriptedClient("receiver", "receiver")
        emulator.fails["Pause"] = silent("emulator")
        with pytest.raises(RuntimeError, match="does not answer"):
            asyncio.run(end_sources([emulator], [receiver]))
        assert receiver.orders == ["HoldDeadlines", "HoldDeadlines"]
