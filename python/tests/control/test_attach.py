# SPDX-License-Identifier: Apache-2.0
"""Managers killed by SIGKILL during a run, and the rest of the run. Nodes are real processes with engines without pixels."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.control.handover.journal import Journal, JournalError, Record, find_journal
from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.nodes.process_identity import is_process
from rashpa.control.run.attach import attached
from rashpa.control.run.manager import Manager
from rashpa.control.telegrams import telegram
from rashpa.testing.run_file import Table, run_file
from rashpa.testing.waiting import eventually

pytestmark = pytest.mark.whole


def run_text(
    frames: int, output: Path, orphaned: str, keep_s: float, detector: Table | None, extra: Table | None
) -> str:
    return run_file(
        run={"name": "orphan", "frames": frames, "output": output, "orphaned": orphaned, "keep_books_s": keep_s},
        detector={"width": 32, "height": 16, "rate_hz": 100.0, **(detector or {})},
        **(extra or {}),
        receiver=[{"name": "one", "port": 0}, {"name": "other", "port": 0}],
        buffer=[
            {"name": "full", "receiver": "one", "sink": [{"kind": "null"}]},
            {
                "name": "centre",
                "receiver": "other",
                "sink": [{"kind": "null"}],
                "region": [8, 8, 16, 8],
                "every": 2,
            },
        ],
    )


MANAGER = """\
import asyncio, sys
from pathlib import Path
from rashpa.control.handover.journal import journal_of
from rashpa.control.nodes.launcher import LocalLauncher
from rashpa.control.run.manager import Manager
from rashpa.control.plan.run_plan import load_plan
def command(role, name):
    return (sys.executable, "-m", "rashpa.testing.fake_node", role, name)
plan = load_plan(Path(sys.argv[1]))
asyncio.run(Manager(plan, launcher=LocalLauncher(command), journal=journal_of(plan)).run())
"""


@contextmanager
def killed_manager(
    tmp_path: Path,
    orphaned: str,
    frames: int,
    keep_s: float = 60.0,
    extra: Table | None = None,
    when: str = "running",
    detector: Table | None = None,
) -> Iterator[tuple[Path, Record]]:
    """Yield the output folder and journal of a run whose manager was killed while the run was going on, or when it had only claimed its nodes."""
    out = tmp_path / "out"
    path = tmp_path / "run.toml"
    text = run_text(frames=frames, output=out, orphaned=orphaned, keep_s=keep_s, extra=extra, detector=detector)
    path.write_text(text)
    manager = subprocess.Popen([sys.executable, "-m", "rashpa.testing.prepared.program", MANAGER, str(path)])
    journal = out / "orphan_attach.json"
    try:
        eventually(journal.exists, 200.0)
        if when == "running":
            eventually(lambda: json.loads(journal.read_text())["began"])
    finally:
        manager.send_signal(signal.SIGKILL)
        manager.wait()
    values = json.loads(journal.read_text())
    probe = Journal(journal)
    record = probe.take_over()
    probe.close()
    assert len(values["nodes"]) == 3
    try:
        yield out, record
    finally:
        for node in record.nodes:
            if is_process(node.pid, node.identity):
                os.kill(node.pid, signal.SIGKILL)


def attach(out: Path, seen: list[Manager] | None = None) -> Outcome:
    manager = attached(Journal(find_journal(out)))
    if seen is not None:
        seen.append(manager)
    return asyncio.run(manager.run())


def state_of(record: Record, name: str) -> str:
    (node,) = (node for node in record.nodes if node.name == name)
    answer = httpx.get(f"{node.url}/status", headers={"Authorization": f"Bearer {record.local_token}"})
    return str(answer.json()["state"])


def order(record: Record, order: telegram.Telegram) -> telegram.Status:
    """Send the emulator an order of its owner, and return the answer."""
    url = next(node.url for node in record.nodes if node.name == "emulator")

    async def give() -> telegram.Status:
        client = NodeClient("emulator", url, record.local_token, owner=record.owner)
        status = await client.order(order)
        await client.close()
        return status

    return asyncio.run(give())


def living(record: Record) -> list[str]:
    return [node.name for node in record.nodes if is_process(node.pid, node.identity)]


def test_a_run_goes_on_without_its_manager_and_whoever_attaches_closes_balanced_books(tmp_path: Path) -> None:
    with killed_manager(tmp_path, "finish", 150) as (out, record):
        assert len(living(record)) == 3
        outcome = attach(out)
        assert outcome.good, outcome.problem
        assert outcome.books.expected == 150 + 75 == outcome.books.complete
        assert outcome.cautions[0].startswith(f"{record.holder} was gone; run orphan of ")
        assert outcome.acquisition_s > 1.2  # the whole of it
        assert living(record) == []
        with pytest.raises(JournalError, match="there is no such run"):
            find_journal(out)


def test_a_run_that_is_over_keeps_its_books_until_they_are_taken(tmp_path: Path) -> None:
    with killed_manager(tmp_path, "finish", 50) as (out, record):
        eventually(lambda: {state_of(record, name) for name in ("one", "other")} == {"finished"})
        outcome = attach(out)
        assert outcome.good, outcome.problem
        assert living(record) == []


def test_what_a_dead_module_never_sent_is_decided_without_the_manager(tmp_path: Path) -> None:
    extra = {"faults": {"dead_modules": [{"module": 0, "from_frame": 60}]}}
    with killed_manager(tmp_path, "finish", 80, extra=extra) as (out, record):
        outcome = attach(out)
        assert outcome.good, outcome.problem
        assert outcome.books.missing == 20 + 10
        assert living(record) == []


def test_nodes_of_a_run_that_ends_with_its_manager_end_at_once_and_that_is_said(tmp_path: Path) -> None:
    with killed_manager(tmp_path, "end", 100_000) as (out, record):
        eventually(lambda: not living(record))
        outcome = attach(out)
        assert not outcome.good
        assert not outcome.refused
        assert "has ended; files that it wrote are closed: `rashpa inspect` shows them" in outcome.problem
        assert not list(out.iterdir())


def test_a_run_that_nobody_attaches_to_leaves_no_process(tmp_path: Path) -> None:
    with killed_manager(tmp_path, "finish", 50, keep_s=1.0) as (_, record):
        eventually(lambda: not living(record))


def test_a_manager_that_dies_before_the_run_begins_leaves_no_process(tmp_path: Path) -> None:
    with killed_manager(tmp_path, "finish", 100_000, when="claimed") as (_, record):
        if not record.began:
            eventually(lambda: not living(record))


def test_who_attaches_may_die_too(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from rashpa.control.run.attach import attached; "
        "from rashpa.control.handover.journal import Journal; asyncio.run(attached(Journal(Path(sys.argv[1]))).run())"
    )
    with killed_manager(tmp_path, "finish", 30, detector={"trigger": "software"}) as (out, record):
        path = find_journal(out)
        first = path.stat().st_ino
        second = subprocess.Popen([sys.executable, "-m", "rashpa.testing.prepared.program", program, str(path)])
        try:
            eventually(lambda: path.stat().st_ino != first)  # it has written its own
            assert json.loads(path.read_text())["began"] == pytest.approx(record.began, abs=0.5), "the run began once"
            with pytest.raises(JournalError, match=rf"process {second.pid}\) lives"):
                attach(out)
        finally:
            second.kill()
            second.wait()
        order(record, telegram.Trigger(frames=30))  # the run cannot end before
        outcome = attach(out)
        assert outcome.good, outcome.problem
        assert outcome.books.expected == 30 + 15
        assert living(record) == []


def test_an_interrupt_of_who_attaches_ends_the_run_in_order(tmp_path: Path) -> None:
    with killed_manager(tmp_path, "finish", 100_000) as (out, record):
        manager = attached(Journal(find_journal(out)))
        manager.observe(lambda progress: manager.interrupt() if progress.phase == "running" else None)
        outcome = asyncio.run(manager.run())
        assert outcome.interrupted
        assert outcome.balanced
        assert living(record) == []


def test_sources_that_a_dead_manager_had_paused_go_on(tmp_path: Path) -> None:
    with killed_manager(tmp_path, "finish", 300) as (out, record):
        assert order(record, telegram.Pause()).state == "paused"
        outcome = attach(out)
        assert outcome.good, outcome.problem
        assert outcome.books.expected == 300 + 150


def test_a_run_on_nodes_of_another_machine_is_attached_to_there(tmp_path: Path) -> None:
    with killed_manager(tmp_path, "finish", 100_000) as (out, record):
        path = find_journal(out)
        values = json.loads(path.read_text()) | {"host": "elsewhere"}
        path.write_text(json.dumps(values))
        with pytest.raises(JournalError, match=r"are processes of elsewhere, and this is .*; attach there"):
            attached(Journal(path))
        assert len(living(record)) == 3
