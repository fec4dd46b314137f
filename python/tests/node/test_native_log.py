# SPDX-License-Identifier: Apache-2.0
"""Messages of native code are in the node's log, with their subject."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.orders.plan_telegrams import destination_telegram
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams import telegram
from rashpa.node.state.node import Node

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa import _native as native
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import Table, run_file


def run_text(frames: int, port: int, rest: Table | None) -> str:
    return run_file(
        run={"name": "logged", "number": 77, "frames": frames},
        detector={"pixel": "uint16"},
        dataset={"pixel": None},
        receiver={"port": port, "memory": "pageable"},
        buffer={"slots": 40, "deadline_ms": 300},
        **(rest or {}),
    )


@pytest.fixture(autouse=True)
def empty_log() -> None:
    native.set_log_level("info")
    native.take_log()


def entries(tmp_path: Path, rest: Table | None = None, frames: int = 100, port: int = 0) -> list[dict[str, Any]]:
    """Return the log entries of the receiver's node after a run in this process; native code logs for both nodes."""
    path = tmp_path / "run.toml"
    path.write_text(run_text(rest=rest, frames=frames, port=port))
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    run_in_process(load_plan(path), nodes)
    nodes["receiver"].hear_native()
    return nodes["receiver"].log.newest(1000)


def test_set_up_arm_start_and_stop_are_said_with_the_run(tmp_path: Path) -> None:
    of_run = [entry for entry in entries(tmp_path) if entry["run"] is not None]
    assert {entry["run"] for entry in of_run} == {77}
    texts = [entry["text"] for entry in of_run]
    assert any(
        re.match(r"receiver: link roce at 127.0.0.1, 1 threads, first processor -1, pageable of memory", text)
        for text in texts
    )
    assert any(text.startswith("emulator: link roce at 127.0.0.1, 1 DTPs, 100 frames at 0 Hz") for text in texts)
    assert "receiver: armed, connected to 1 sources" in texts
    assert "receiver: started" in texts
    assert "emulator: started" in texts
    (shape,) = [entry for entry in of_run if "64 × 32 pixels uint16, 40 slots in stacks of 10, 1 DTPs" in entry["text"]]
    assert shape["buffer"] == "full"
    (ended,) = [entry for entry in of_run if entry["text"].startswith("receiver: stopped")]
    assert ended["text"].endswith("100 complete, 0 partial, 0 missing, 100 accepted, 100 written")
    assert not any(entry["level"] in ("warning", "error") for entry in of_run)


def test_lost_lines_are_said_with_buffer_dtp_and_frame_and_a_flood_of_them_is_not(tmp_path: Path) -> None:
    frames = 3000
    found = entries(tmp_path, {"faults": {"drop": 0.02, "seed": 5}}, frames)
    lost = [entry for entry in found if "lines are lost, the first is line" in entry["text"]]
    assert lost
    assert lost[0]["level"] == "warning"
    assert (lost[0]["run"], lost[0]["buffer"], lost[0]["dtp"]) == (77, "full", 0)
    assert 0 <= lost[0]["frame"] < frames
    assert re.fullmatch(r"\d+ of 32 lines are lost, the first is line \d+", lost[0]["text"])
    assert len(found) < 100, "hundreds of images lost something"


def test_a_module_that_falls_silent_is_said(tmp_path: Path) -> None:
    rest = {"faults": {"dead_modules": [{"module": 0, "from_frame": 50}]}}
    (stalled, *_) = [entry for entry in entries(tmp_path, rest) if "the DTP stalls" in entry["text"]]
    assert (stalled["dtp"], stalled["frame"]) == (0, 50)


def test_a_flood_of_bad_packets_is_said_once_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(run_text(rest=None, frames=100, port=0))
    node = Node("r", "receiver", NativeFactory("receiver"))
    plan = load_plan(path)
    engine = node._factory.make(destination_telegram(plan, plan.receivers[0]))
    own = engine.configured("r").endpoints[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source:
        source.bind(("127.0.0.1", 0))
        ends = (telegram.Endpoint(address="127.0.0.1", port=source.getsockname()[1], qpn=5, rkey=0, credit_offset=0),)
        engine.arm(telegram.Arm(endpoints=ends))
        engine.start()
        for _ in range(20):
            for _ in range(200):
                source.sendto(b"no packet of ours", (own.address, own.port))
            engine.wait(0.01)
        engine.abort()
    node.hear_native()
    texts = [str(entry["text"]) for entry in node.log.newest(1000)]
    said = [text for text in texts if text.startswith("icrc_bad")]
    assert said[0].endswith("packets with a wrong ICRC were refused")
    assert 1 <= len(said) <= 3, "4000 packets"
    if len(said) > 1:
        assert re.fullmatch(r"icrc_bad: \d+ more, \d+ so far", said[-1])


def test_debug_says_where_every_dtp_is(tmp_path: Path) -> None:
    assert not any(entry["level"] == "debug" for entry in entries(tmp_path)), "info is what is kept at first"
    native.set_log_level("debug")
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    run_in_process(load_plan(tmp_path / "run.toml"), nodes)
    said = [(message.level, message.text, message.dtp) for message in native.take_log()]
    assert any(level == "debug" and text.startswith("queue pair ") and dtp == 0 for level, text, dtp in said)


def test_a_node_has_a_level_and_a_file(tmp_path: Path) -> None:
    file = tmp_path / "node.log"
    node = subprocess.Popen(
        [sys.executable, "-m", "rashpa.cli.entry", "receiver", "--port", "0", "--with-parent", "--log-level", "warning", "--log-file", str(file)],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert node.stdout
        url = json.loads(node.stdout.readline())["url"]
        nothing = CliRunner().invoke(app, ["node", "log", url])
        assert nothing.output.strip() == "nothing yet", "info is less than a warning"
        refused = httpx.post(f"{url}/telegram", content=b"<nothing/>", headers={"content-type": "text/plain"})
        assert refused.status_code == 415
        said = CliRunner().invoke(app, ["node", "log", url])
        assert "a request is refused: HTTP 415" in said.output
    finally:
        node.communicate()
    assert re.fullmatch(r"\S+Z warning +a request is refused: HTTP 415\n", file.read_text())


def test_a_log_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = CliRunner().invoke(app, ["receiver", "--port", "0", "--log-file", str(tmp_path / "taken" / "node.log")])
    assert done.exit_code == 2
    assert "give a file in a folder that can be written to" in done.output
