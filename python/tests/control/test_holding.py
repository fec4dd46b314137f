# SPDX-License-Identifier: Apache-2.0
"""Emulators that get the order to pause at very different times: the receiver waits for the one that may not send."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.handover.journal import journal_of
from rashpa.control.handover.steering import steer
from rashpa.control.handover.stop_request import StopRequest
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Telegram
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.state.node import Node
from rashpa.testing.in_process import transports_of
from rashpa.testing.run_file import run_file

pytestmark = pytest.mark.whole


def run_text(output: Path) -> str:
    return run_file(
        run={"name": "held", "frames": "until stopped", "output": output},
        detector={"rate_hz": 200.0, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 40}]},
        dataset={"modules": 2},
        emulator=[{"name": "upper"}, {"name": "lower"}],
        buffer={"stack": 4, "slots": 16, "deadline_ms": 200},
    )


_LATER_S = 1.0  # the foremost hears of a pause so long after the other; it has filled all slots meanwhile


class _LateNode(Node):
    """Receives orders to pause late."""

    async def obey(self, order: Telegram) -> Telegram:
        if isinstance(order, telegram.Pause):
            await asyncio.sleep(_LATER_S)  # wait: this node hears late
        return await super().obey(order)


def _carried_out(plan: Plan, hand: Callable[[Path], None]) -> tuple[Outcome, list[bool]]:
    """Carry out a run and call `hand` when images come; return the outcome, and the orders on deadlines to its receiver."""
    journal, began, raised, told = journal_of(plan), threading.Event(), list[BaseException](), list[bool]()

    class Receiver(Node):
        async def obey(self, order: Telegram) -> Telegram:
            if isinstance(order, telegram.HoldDeadlines):
                told.append(order.held)
            return await super().obey(order)

    def look(progress: Progress) -> None:
        if progress.phase == "running" and any(
            status.destination and status.destination.buffers[0].books.decided for status in progress.receivers.values()
        ):
            began.set()

    def act() -> None:
        try:
            assert began.wait(60.0)
            hand(journal.path)
        except BaseException as error:  # noqa: BLE001  of a thread: told to the test
            raised.append(error)
            steer(journal.path, "abort", "the test", 30.0)

    async def run() -> Outcome:
        nodes: dict[str, Node] = {
            "upper": _LateNode("upper", "emulator", NativeFactory("emulator")),
            "lower": Node("lower", "emulator", NativeFactory("emulator")),
            "receiver": Receiver("receiver", "receiver", NativeFactory("receiver")),
        }
        return await Manager(plan, look, transports=transports_of(nodes), journal=journal).run()

    thread = threading.Thread(target=act)
    thread.start()
    outcome = asyncio.run(run())
    thread.join()
    assert not raised, raised
    return outcome, told


def _end(journal: Path) -> None:
    stop = StopRequest(journal, "somebody")
    assert stop.wait(60.0).good
    stop.close()


def _pause_and_go_on(journal: Path) -> None:
    steer(journal, "pause", "somebody", 30.0)
    steer(journal, "resume", "somebody", 30.0)
    _end(journal)


@pytest.mark.parametrize("hand", [_end, _pause_and_go_on])
def test_no_image_is_late_while_its_sources_are_told_to_pause_one_after_the_other(
    tmp_path: Path, hand: Callable[[Path], None]
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(run_text(output=tmp_path / "out"))
    outcome, told = _carried_out(load_plan(file), hand)
    assert outcome.good, (outcome.problem, outcome.reasons)
    assert outcome.books.complete == outcome.books.expected == outcome.frames > 0
    assert told == [True, False] * (len(told) // 2), "what is held is let go"
    assert told
