# SPDX-License-Identifier: Apache-2.0
import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams import telegram
from rashpa.node.engine.engine import EngineFactory
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import transports_of

pytestmark = pytest.mark.whole

RUN = """\
[run]
name = "open"
frames = {frames}
{run}
[detector]
width = 64
height = 32
rate_hz = {rate_hz}
module = [{{ x = 0, y = 0 }}, {{ x = 0, y = 40 }}]
[dataset]
kind = "pattern"
modules = 2
width = 64
height = 32
[receiver]
port = 0
[link]
{link}
[[emulator]]
name = "upper"
[[emulator]]
name = "lower"
[[buffer]]
name = "full"
sink = [{{ kind = "null" }}]
slots = 40
stack = 10
{extra}
"""
TRIGGERED = {"rate_hz": '5.0\ntrigger = "software"'}


def plan_of(folder: Path, **parts: str) -> Plan:
    values = {"frames": '"until stopped"', "run": "", "rate_hz": "200.0", "link": "", "extra": "", **parts}
    file = folder / "run.toml"
    file.write_text(RUN.format(**values))
    return load_plan(file)


def carry_through(plan: Plan, stop_at: int) -> Outcome:
    """Carry out a run that is stopped when `stop_at` images have come."""

    async def run() -> Outcome:
        nodes = {name: Node(name, "emulator", FakeFactory("emulator")) for name in ("upper", "lower")}
        nodes["receiver"] = Node("receiver", "receiver", FakeFactory("receiver"))
        manager: list[Manager] = []

        stopped: list[Progress] = []

        def look(progress: Progress) -> None:
            if stopped:  # a second time would interrupt it
                return
            for status in progress.receivers.values():
                if (
                    progress.phase == "running"
                    and status.destination
                    and status.destination.buffers[0].books.decided >= stop_at
                ):
                    stopped.append(progress)
                    manager[0].stop()

        manager.append(Manager(plan, look, transports=transports_of(nodes)))
        return await manager[0].run()

    return asyncio.run(run())


def test_all_emulators_end_after_the_same_frame_and_the_books_hold_these_images(tmp_path: Path) -> None:
    outcome = carry_through(plan_of(tmp_path), 20)
    assert outcome.problem == ""
    assert outcome.good
    assert not outcome.interrupted
    assert outcome.books.expected == outcome.books.complete == outcome.frames >= 20
    assert len({source.frames_begun for source in outcome.sources.values()}) == 1
    assert all(buffer.end_known for buffer in outcome.buffers)


def carry_through_triggers(plan: Plan, factory: Callable[[str], EngineFactory]) -> tuple[Outcome, list[str]]:
    """Carry out a run with three triggers of 4 frames, each after the end of the previous one, and one that comes too early. Return outcome, and the
    answers to the latter."""
    refused: list[str] = []

    async def run() -> Outcome:
        nodes = {name: Node(name, "emulator", factory("emulator")) for name in ("upper", "lower")}
        nodes["receiver"] = Node("receiver", "receiver", factory("receiver"))
        transports = transports_of(nodes)
        sent = asyncio.Queue[int]()

        def look(progress: Progress) -> None:
            sources = [status.source for status in progress.emulators.values() if status.source]
            if progress.phase == "running" and progress.receivers:
                sent.put_nowait(min((dtp.images_due for source in sources for dtp in source.dtps), default=0))

        manager = Manager(plan, look, transports=transports)
        task = asyncio.create_task(manager.run())
        await asyncio.wait_for(sent.get(), 20)
        clients = [NodeClient(name, "http://node", transport=transports[name]) for name in ("upper", "lower")]
        for number in range(1, 4):
            for client in clients:
                await client.order(telegram.Trigger(frames=4))
            try:
                await clients[0].order(telegram.Trigger(frames=1))
            except NodeError as error:
                refused.append(str(error))
            async with asyncio.timeout(20):
                while (plan.file.run.open_ended or number < 3) and await sent.get() < 4 * number:
                    pass
        if plan.file.run.open_ended:
            manager.stop()
        outcome = await asyncio.wait_for(task, 30)
        for client in clients:
            await client.close()
        return outcome

    return asyncio.run(run()), refused


@pytest.mark.parametrize("frames", ['"until stopped"', "12"])
@pytest.mark.parametrize("factory", [FakeFactory, NativeFactory])
def test_frames_come_by_trigger_and_one_that_comes_too_early_is_refused_and_counted(
    tmp_path: Path, frames: str, factory: Callable[[str], EngineFactory]
) -> None:
    outcome, refused = carry_through_triggers(plan_of(tmp_path, frames=frames, **TRIGGERED), factory)
    assert outcome.problem == ""
    assert outcome.good
    assert outcome.books.expected == outcome.books.complete == 12
    assert len(refused) == 3
    assert "busy" in refused[0]
    counts = {name: telegram.count_of(source.counts, "trigger") for name, source in outcome.sources.items()}
    assert counts["lower"] == {"accepted": 3, "refused": 0, "frames": 12}
    assert counts["upper"] == {"accepted": 3, "refused": 3, "frames": 12}


def test_nothing_of_it_is_planned_by_a_number_of_images(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert plan.file.run.open_ended
    assert plan.buffers[0].images == 2**32


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"frames": "100", "run": "duration_s = 5.0"}, 'set frames = "until stopped"'),
        ({"extra": "[faults]\nreorder = 0.1"}, "known number of run.frames"),
        ({"rate_hz": "0.0", "link": 'flow = "paced"'}, 'needs flow = "credits"'),
        ({"frames": '"for ever"'}, "frames"),
    ],
)
def test_what_such_a_run_cannot_have_is_refused_in_words(tmp_path: Path, parts: dict[str, str], text: str) -> None:
    with pytest.raises(RunFileError, match=r"frames|flow") as refused:
        plan_of(tmp_path, **parts)
    assert text in str(refused.value)
