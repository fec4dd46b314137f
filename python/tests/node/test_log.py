# SPDX-License-Identifier: Apache-2.0
import asyncio
import dataclasses
import io
import logging
from pathlib import Path

import httpx
import pytest

from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.telegrams import telegram
from rashpa.node.door.access import Access
from rashpa.node.door.server import NodeApp
from rashpa.node.logs.log import MOST, About, NodeLog
from rashpa.node.serve import _log_into
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory, LogMessage
from rashpa.testing.in_process import transports_of
from rashpa.testing.run_file import run_file

RUN = run_file(run={"name": "logged"})


def test_the_newest_entries_are_kept_and_repeated_ones_counted() -> None:
    log = NodeLog()
    for number in range(MOST + 10):
        log.logger.info(f"entry {number}")
    for _ in range(3):
        log.logger.warning("again")
    assert len(log.newest(10**6)) == MOST
    assert [(entry["text"], entry["times"]) for entry in log.newest(2)] == [(f"entry {MOST + 9}", 1), ("again", 3)]
    assert log.newest(2)[1]["level"] == "warning"
    log.logger.error("a\x1b[2Jb\n" + "c" * 1000)
    (entry,) = log.newest(1)
    assert entry["text"] == "a[2Jb" + "c" * 495


def test_entries_say_what_they_are_about_and_less_than_the_level_is_not_kept() -> None:
    copied: list[tuple[str, int]] = []
    log = NodeLog("warning", lambda entry: copied.append((entry.text, entry.times)), "right")
    log.know_modules({2: 5})
    log.logger.info("not kept")
    log.logger.warning("kept")
    lost = LogMessage("warning", "lost", 3, "main", 2, 17)
    log.hear([LogMessage("info", "not kept either"), lost, lost, dataclasses.replace(lost, frame=18)])
    assert [entry["text"] for entry in log.newest(10)] == ["kept", "lost", "lost"]
    first = log.newest(10)[1]
    assert first == {
        "time": "1970-01-01T00:00:00.000Z", "node": "right", "level": "warning", "text": "lost", "times": 2,
        "run": 3, "buffer": "main", "dtp": 2, "module": 5, "frame": 17,
    }  # fmt: skip
    assert copied == [("kept", 1), ("lost", 1), ("lost", 2), ("lost", 1)], "what repeats itself is copied twice"
    assert log.levels() == {"warning": 4, "error": 0}


def test_what_the_package_logs_goes_there_with_its_error() -> None:
    log = NodeLog()
    logger = logging.getLogger("rashpa.test_log")
    logger.addHandler(log)
    logger.propagate = False
    try:
        raise ValueError("no such thing")
    except ValueError:
        logger.exception("Start failed")
    assert [(entry["level"], entry["text"]) for entry in log.newest(5)] == [
        ("error", "Start failed: ValueError: no such thing")
    ]


def test_an_event_of_a_node_has_its_subject_and_goes_to_standard_error_when_it_has_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging.getLogger("rashpa"), "handlers", [])
    errors = io.StringIO()
    node = Node("r", "receiver", FakeFactory("receiver"))
    _log_into(node, errors)
    node.log.logger.warning("a request is refused")
    node.log.logger.error("the engine failed: gone", exc_info=OSError("gone"), extra=About(run=7).extra)
    logging.getLogger("rashpa.dashboard").warning("the webhook is gone")
    assert [(entry["level"], entry["text"], entry["run"]) for entry in node.log.newest(5)] == [
        ("warning", "a request is refused", None),
        ("error", "the engine failed: gone", 7),
        ("warning", "the webhook is gone", None),
    ]
    assert errors.getvalue().splitlines() == ["the engine failed: gone", "OSError: gone", "the webhook is gone"]


def test_two_nodes_of_one_process_have_logs_of_their_own() -> None:
    left, right = (Node(name, "receiver", FakeFactory("receiver")) for name in ("left", "right"))
    left.log.logger.info("only here")
    assert [entry["node"] for entry in left.log.newest(5)] == ["left"]
    assert right.log.newest(5) == []


def test_a_run_stands_in_the_logs_of_its_nodes_and_its_secrets_do_not(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    nodes = {role: Node(role, role, FakeFactory(role)) for role in ("emulator", "receiver")}
    manager = Manager(load_plan(path), transports=transports_of(nodes))
    assert asyncio.run(manager.run()).good
    for role, parts in (("emulator", "1 DTPs over roce"), ("receiver", "buffers full")):
        texts = [str(entry["text"]) for entry in nodes[role].log.newest(100)]
        begins = [text.partition(":")[0] for text in texts]
        assert begins == ["Claim", "Configure", "Arm", "Start", *begins[4:-1], "Reset"]
        assert texts[0].startswith("Claim: the node belongs to run logged of ")
        assert texts[1] == f"Configure: run logged, number 1, {parts}"
        assert any(text.startswith("finished: after ") for text in texts)
        assert not any(manager._nodes.owner in text for text in texts)


def test_a_refused_order_and_an_order_by_force_are_in_the_log() -> None:
    async def play() -> list[str]:
        node = Node("r", "receiver", FakeFactory("receiver"))
        await node.obey(telegram.Claim(holder="run a of bob", owner="secretowner"))
        await node.obey(telegram.Start())
        await node.obey(telegram.Reset(force=True))
        return [str(entry["text"]) for entry in node.log.newest(10)]

    texts = asyncio.run(play())
    assert texts[1].startswith("Start is refused (state): r belongs to run a of bob")
    assert texts[2] == "Reset, forced: the node of run a of bob is idle, and nobody's"
    assert not any("secretowner" in text for text in texts)


@pytest.mark.parametrize("token", ["wrong", ""])
def test_the_log_is_for_those_who_have_the_token_and_says_that_others_came(token: str) -> None:
    node = Node("r", "receiver", FakeFactory("receiver"))

    async def ask() -> None:
        app = NodeApp(node, "test", Access("right")).starlette()
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://node") as client:
            for _ in range(3):
                headers = {"authorization": f"Bearer {token}"} if token else {}
                assert (await client.get("/log", headers=headers)).status_code == 401
            headers = {"authorization": "Bearer right"}
            (entry,) = (await client.get("/log", headers=headers, params={"last": "5"})).json()
            assert (entry["text"], entry["times"]) == ("a request is refused: HTTP 401", 3)
            assert (await client.get("/log?last=many", headers=headers)).status_code == 400

    asyncio.run(ask())


def test_an_engine_that_fails_is_one_entry_and_one_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Configure logging as a node process does: the package's log goes to the node's log, and tracebacks also go to standard error."""
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    nodes = {role: Node(role, role, FakeFactory(role)) for role in ("emulator", "receiver")}
    monkeypatch.setattr(logging.getLogger("rashpa"), "handlers", [nodes["receiver"].log])
    nodes["receiver"].log.logger.addHandler(caplog.handler)
    made = nodes["receiver"]._factory.make

    def failing(order: telegram.Configure):  # type: ignore[no-untyped-def]
        engine = made(order)

        def fail(_: float) -> bool:
            raise RuntimeError("the device is gone")

        engine.wait = fail  # type: ignore[method-assign, assignment]
        return engine

    monkeypatch.setattr(nodes["receiver"]._factory, "make", failing)
    assert not asyncio.run(Manager(load_plan(path), transports=transports_of(nodes)).run()).good
    said = [str(entry["text"]) for entry in nodes["receiver"].log.newest(100) if entry["level"] == "error"]
    assert said == ["receiver: the engine failed: the device is gone"]
    traced = [record.exc_info for record in caplog.records if "engine failed" in record.getMessage()]
    assert len(traced) == 1
    assert traced[0] is not None
