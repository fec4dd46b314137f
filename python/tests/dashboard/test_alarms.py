# SPDX-License-Identifier: Apache-2.0
"""Alarms: each limit, their life from beginning to end, the webhook, and the rules for Prometheus."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from rashpa.control.nodes.node_load import Load
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_section import Alarms
from rashpa.control.telegrams.telegram import Books, BufferStatus, DestinationStatus, Status
from rashpa.dashboard.alarms import NAME, AlarmBoard, passed
from rashpa.dashboard.course import Course
from rashpa.dashboard.scene import NodeScene, Scene
from rashpa.node.door.metric_list import GROUPS

EXAMPLE = Path("examples/01_first_light.toml")
ALL = """
[alarms]
lost_images = 5
free_slots = 0.2
disk_minutes = 10.0
hit_rate = 0.1
rate = 0.9
silent_s = 3.0
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return _plan(tmp_path, ALL)


def _plan(folder: Path, alarms: str) -> Plan:
    text = EXAMPLE.read_text().replace('output = "out/demo"', f'output = "{folder}"')
    (folder / "run.toml").write_text(text + alarms)
    return load_plan(folder / "run.toml")


def _scene(plan: Plan, books: Books, elapsed_s: float, to_write: int = 0, stored: int = 0, **more: Any) -> Scene:
    buffer = BufferStatus(
        name="full", sink_error="", unit="cpu", unit_error="", bytes_written=0, bytes_stored=stored, books=books, counts=(), slots=10, to_write=to_write
    )  # fmt: skip
    destination = DestinationStatus(
        receiver="r", elapsed_s=elapsed_s, memory="", first_incomplete="", counts=(), buffers=(buffer,)
    )
    status = Status(node="receiver", role="receiver", state="running", destination=destination)
    emulator = NodeScene("emulator", "http://e", Status(node="emulator", role="emulator", state="running"))
    nodes = (NodeScene("receiver", "http://r", status), emulator)
    return replace(Scene(elapsed_s, plan, going=True, managed=True, nodes=nodes), **more)


def _keys(scene: Scene, course: Course, **silent_s: float) -> set[str]:
    assert scene.plan is not None
    return {key for key, _ in passed(scene, course, scene.plan.file.alarms, silent_s)}


GOOD = Books(expected=2400, complete=1000, accepted=500, vetoed=500, written=500)


def _course(*scenes: Scene) -> Course:
    course = Course()
    for scene in scenes:
        course.add(scene)
    return course


def test_a_good_run_has_none_and_each_limit_has_one_that_is_passed(plan: Plan) -> None:
    early = _scene(plan, replace(GOOD, complete=0, accepted=0, vetoed=0, written=0), 1.0)
    good = _scene(plan, GOOD, 6.0, stored=1000, free_bytes=10**9)
    course = _course(early, good)
    assert _keys(good, course, receiver=1.0) == set()
    lost = replace(GOOD, complete=994, missing=6)
    for scene, key in (
        (_scene(plan, lost, 6.0), "lost"),
        (_scene(plan, GOOD, 6.0, to_write=9), "slots full"),
        (_scene(plan, replace(GOOD, accepted=99, vetoed=901), 6.0), "hits"),
        (_scene(plan, GOOD, 6.0, stored=1000, free_bytes=100_000), "disk"),
    ):
        assert _keys(scene, course, receiver=1.0) == {key}
    assert _keys(good, course, receiver=3.5) == {"silent receiver"}
    slow = _scene(plan, GOOD, 20.0)
    assert _keys(slow, _course(good, slow)) == {"rate full"}, "nothing was decided for 14 s"
    assert _keys(replace(slow, going=False), _course(good, slow)) == set()


def test_a_hot_machine_is_an_alarm_where_a_node_tells_its_temperature(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "[alarms]\ntemperature_c = 80.0\n")
    assert plan.file.alarms.some
    scene = _scene(plan, GOOD, 6.0)
    for degrees, wanted in ((None, set()), (80.0, set()), (80.5, {"hot receiver"})):
        load = Load(1.0, 0.0, 0.0, 0, 0, 0, 1, (), degrees)
        hot = replace(scene, nodes=(replace(scene.nodes[0], load=load), scene.nodes[1]))
        assert _keys(hot, _course(hot)) == wanted
        gone = replace(hot, nodes=(replace(hot.nodes[0], problem="it does not answer"), scene.nodes[1]))
        assert _keys(gone, _course(gone)) == set(), "its last word is old"


def test_without_limits_there_are_no_alarms(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "")
    assert not plan.file.alarms.some
    scene = _scene(plan, replace(GOOD, complete=0, missing=1000, accepted=0), 20.0, to_write=10, free_bytes=1)
    assert list(passed(scene, _course(scene), plan.file.alarms, {"receiver": 99.0})) == []


def test_an_alarm_begins_is_acknowledged_and_ends_and_all_of_it_is_recorded(plan: Plan, tmp_path: Path) -> None:
    board = AlarmBoard(tmp_path / "reports")
    full, good = _scene(plan, GOOD, 6.0, to_write=9), _scene(plan, GOOD, 6.5)
    board.look(full, _course(full))
    board.look(full, _course(full))
    (alarm,) = board.alarms
    assert (alarm.key, alarm.over, alarm.by) == ("slots full", False, "")
    assert not board.acknowledge("slots full", "  ", "::1"), "a name is wanted"
    assert not board.acknowledge("other", "Ada", "::1")
    assert board.acknowledge("slots full", " Ada \n Lovelace", "::1")
    assert board.alarms[0].by == "Ada Lovelace"
    board.look(good, _course(good))
    assert not board.alarms, "over, and known"
    board.look(full, _course(full))
    board.look(good, _course(good))
    (alarm,) = board.alarms
    assert alarm.over, "nobody has seen this one"
    assert board.acknowledge("slots full", "Ada", "::1")
    assert board.alarms == ()
    lines = [json.loads(line) for line in (tmp_path / "reports" / NAME).read_text().splitlines()]
    assert [line["what"] for line in lines] == [
        "begins", "is acknowledged", "ends", "begins", "ends", "is acknowledged",
    ]  # fmt: skip
    assert lines[1]["by"] == "Ada Lovelace"
    assert lines[1]["address"] == "::1"


def test_a_node_is_silent_since_its_last_answer(plan: Plan, tmp_path: Path) -> None:
    board = AlarmBoard(tmp_path)
    for seconds in (6.0, 8.0, 9.5):
        scene = replace(_scene(plan, GOOD, 6.0), time_s=seconds)
        receiver, emulator = scene.nodes
        if seconds > 6.0:
            scene = replace(scene, nodes=(receiver, replace(emulator, problem="no answer")))
        board.look(scene, _course(scene))
        assert [alarm.key for alarm in board.alarms] == (["silent emulator"] if seconds > 9.0 else [])


@pytest.fixture
def hook() -> Iterator[tuple[str, list[dict[str, str]]]]:
    heard: list[dict[str, str]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204 if len(heard) == 1 else 500)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/x", heard
        server.shutdown()
        thread.join()


def test_a_webhook_hears_of_each_change_and_stops_nothing_when_it_fails(
    tmp_path: Path, hook: tuple[str, list[dict[str, str]]], caplog: pytest.LogCaptureFixture
) -> None:
    address, heard = hook
    plan = _plan(tmp_path, f'[alarms]\nfree_slots = 0.2\nwebhook = "{address}"\n')
    board = AlarmBoard(tmp_path)

    async def work() -> None:
        for to_write in (9, 0):
            scene = _scene(plan, GOOD, 6.0, to_write=to_write)
            board.look(scene, _course(scene))
            await asyncio.gather(*board._posts)

    asyncio.run(work())
    assert [(one["alarm"], one["what"]) for one in heard] == [("slots full", "begins"), ("slots full", "ends")]
    assert any("webhook" in line for line in caplog.messages), "the second answer was an error"


@pytest.mark.parametrize("wrong", ["free_slots = 0.0", "free_slots = 1.1", "rate = -1.0", "lost_images = -1", "silent_s = 0.0", 'webhook = "file:///x"', "temperature = 3.0", "temperature_c = 151.0"])  # fmt: skip
def test_a_wrong_limit_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ValueError, match="alarms"):
        _plan(tmp_path, f"[alarms]\n{wrong}\n")


def test_the_rules_of_prometheus_ask_for_metrics_that_there_are() -> None:
    known = {one.name for group in GROUPS.values() for one in group}
    rules = yaml.safe_load(Path("examples/prometheus/rashpa.rules.yml").read_text())["groups"][0]["rules"]
    assert len(rules) == len(Alarms.model_fields) - 1, "one a limit; the webhook is none"
    for rule in rules:
        asked = set(re.findall(r"\brashpa_\w+", rule["expr"]))
        assert asked <= known, rule["alert"]
