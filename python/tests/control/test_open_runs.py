# SPDX-License-Identifier: Apache-2.0
import asyncio
from pathlib import Path

import pytest

from rashpa.control.manager import Manager
from rashpa.control.outcome import Outcome, Progress
from rashpa.control.run_file_reader import RunFileError
from rashpa.control.run_plan import Plan, load_plan
from rashpa.node.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import transports_of

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
[link]
port = 0
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


def plan_of(folder: Path, **parts: str) -> Plan:
    values = {"frames": '"until stopped"', "run": "", "rate_hz": "200.0", "link": "", "extra": "", **parts}
    file = folder / "run.toml"
    file.write_text(RUN.format(**values))
    return load_plan(file)


def carry_through(plan: Plan, stop_at: int) -> Outcome:
    """Stops when so many images have come."""

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
