# SPDX-License-Identifier: Apache-2.0
"""A detector that sends by itself: programs that start and stop it, and the end of its run."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.end import images_come
from rashpa.control.run.foreign_detector import ForeignDetector
from rashpa.control.telegrams.telegram import Books, BufferStatus, DestinationDtpStatus, DestinationStatus, Status

RUN = """
[run]
name = "foreign"
frames = 10
output = "out"
[detector]
width = 1024
height = 512
{control}
[link]
kind = "sls"
[[buffer]]
name = "whole"
slots = 16
stack = 2
deadline_ms = 100
sink = [{{ kind = "null" }}]
"""


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def look(self) -> float:
        return self.now


def plan_of(folder: Path, kind: str = "none", **keys: object) -> Plan:
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    file = folder / "run.toml"
    file.write_text(RUN.format(control="\n".join(("[detector.control]", f'kind = "{kind}"', *lines))), encoding="utf-8")
    return load_plan(file)


def foreign(plan: Plan, clock: Callable[[], float] | None = None) -> ForeignDetector:
    assert plan.file.detector.control is not None
    return ForeignDetector(plan, plan.file.detector.control, clock)


def status(expected: int, complete: int, partial: int = 0, missing: int = 0) -> dict[str, Status]:
    dtp = DestinationDtpStatus(
        id=0, module=0, expected=expected, complete=complete, partial=partial, missing=missing, lines_missing=0
    )
    books = Books(expected=expected, complete=complete, partial=partial, missing=missing, accepted=complete + partial)
    buffer = BufferStatus(
        name="whole", sink_error="", unit="", unit_error="", bytes_written=0, bytes_stored=0, books=books, dtps=(dtp,)
    )
    there = DestinationStatus(receiver="receiver", elapsed_s=1.0, memory="", first_incomplete="", buffers=(buffer,))
    return {"receiver": Status(node="receiver", role="receiver", state="running", destination=there)}


def test_the_run_ends_with_its_last_image(tmp_path: Path) -> None:
    detector = foreign(plan_of(tmp_path))
    assert not detector.ended(status(10, 9))
    assert detector.ended(status(10, 10))
    assert detector.cautions == ()


def test_a_detector_that_falls_silent_ends_the_run_with_a_caution(tmp_path: Path) -> None:
    time = Time()
    detector = foreign(plan_of(tmp_path, silence_s=5.0, first_s=100.0), time.look)
    asyncio.run(detector.start())
    time.now = 99.0
    assert not detector.ended(status(10, 0))
    assert not detector.ended(status(10, 3))
    time.now = 103.0
    assert not detector.ended(status(10, 3))
    time.now = 105.0
    assert detector.ended(status(10, 3))
    assert detector.cautions == ("detector.control: no further image came for 5 s, and the run ended",)


def test_a_detector_that_never_sends_ends_the_run(tmp_path: Path) -> None:
    time = Time()
    detector = foreign(plan_of(tmp_path, first_s=3.0), time.look)
    asyncio.run(detector.start())
    time.now = 4.0
    assert detector.ended(status(10, 0, missing=5)), "images that were given up have not come"
    assert "no image came for 3 s" in detector.cautions[0]


def words_that(folder: Path, what: str) -> list[str]:
    """Return the command of a program that writes its word to a file."""
    return [sys.executable, "-c", f"open({str(folder / 'said')!r}, 'a').write({what!r})"]


def test_programs_prepare_start_and_stop_it(tmp_path: Path) -> None:
    keys = {key: words_that(tmp_path, f"{key} ") for key in ("prepare", "stop")}
    waits = [sys.executable, "-c", "import signal; signal.pause()"]
    detector = foreign(plan_of(tmp_path, "command", start=waits, **keys))

    async def course() -> None:
        await detector.prepare()
        await detector.start()
        await detector.stop()

    asyncio.run(asyncio.wait_for(course(), 30))
    assert (tmp_path / "said").read_text() == "prepare stop "


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/nowhere/program"], "cannot be run"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "ended with status 3"),
        ([sys.executable, "-c", "import signal; signal.pause()"], "did not end within 0.5 s and was killed"),
    ],
)
def test_programs_that_fail_are_named_with_their_key(tmp_path: Path, words: list[str], said: str) -> None:
    detector = foreign(plan_of(tmp_path, "command", prepare=words, timeout_s=0.5))
    with pytest.raises(NodeError, match=r"run\.toml:\d+: detector\.control\.prepare") as caught:
        asyncio.run(detector.prepare())
    assert said in str(caught.value)


class Calls:
    """Replaces slsdet.Detector, and records its calls."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def startDetector(self) -> None:  # noqa: N802 (of slsdet)
        self.said.append("start")

    def stopDetector(self) -> None:  # noqa: N802 (of slsdet)
        self.said.append("stop")

    def loadConfig(self, file: str) -> None:  # noqa: N802 (of slsdet)
        self.said.append(Path(file).name)


def test_slsdet_is_asked_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Calls()
    package: Any = ModuleType("slsdet")
    package.Detector = lambda: one
    monkeypatch.setitem(sys.modules, "slsdet", package)
    detector = foreign(plan_of(tmp_path, "slsdet", config="detector.config"))

    async def course() -> None:
        await detector.prepare()
        await detector.start()
        await detector.stop()

    asyncio.run(course())
    assert one.said == ["detector.config", "start", "stop"]


def test_without_slsdet_the_key_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "slsdet", None)
    with pytest.raises(NodeError, match=r"detector\.control\.kind: the Python package slsdet cannot be imported"):
        asyncio.run(foreign(plan_of(tmp_path, "slsdet")).prepare())


def test_a_run_that_is_ended_early_is_as_long_as_what_came(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert images_come(plan, status(10, 3, partial=1, missing=2).values()) == {0: 6}
    assert images_come(plan, {}.values()) == {0: 0}
