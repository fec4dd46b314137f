from pathlib import Path

import pytest

from rashpa.control import stall
from rashpa.control.run_plan import load_plan
from rashpa.control.stall import StallWatch
from rashpa.control.telegram import Books, BufferStatus, DestinationStatus, SourceStatus, Status

RUN = """\
[run]
name = "slow"
frames = 800
[detector]
width = 64
height = 32
[dataset]
kind = "pattern"
width = 64
height = 32
[[buffer]]
name = "full"
"""


def statuses(to_write: int, decided: int = 400, stored: int = 0) -> dict[str, Status]:
    books = Books(expected=800, complete=decided, accepted=decided, written=decided)
    buffer = BufferStatus("full", "", "", "", 0, stored, books, to_write=to_write)
    destination = DestinationStatus("receiver", 1.0, "", "", (), (buffer,))
    return {
        "emulator": Status("emulator", "emulator", "finished", source=SourceStatus(1.0)),
        "receiver": Status("receiver", "receiver", "running", destination=destination),
    }


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(stall.time, "monotonic", lambda: now[0])
    return now


def watch(tmp_path: Path) -> StallWatch:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    return StallWatch(load_plan(path))


def test_a_slow_sink_is_not_taken_for_one_that_stands_still(tmp_path: Path, clock: list[float]) -> None:
    watched = watch(tmp_path)
    for step in range(1, 20):
        clock[0] += 200.0  # a single image takes minutes, but bytes arrive
        assert watched.stalled(statuses(40, stored=step), ["receiver"]) is None


def test_files_that_are_being_completed_have_their_time(tmp_path: Path, clock: list[float]) -> None:
    watched = watch(tmp_path)
    assert watched.stalled(statuses(0, decided=800), ["receiver"]) is None
    clock[0] += 200.0
    assert watched.stalled(statuses(0, decided=800), ["receiver"]) is None


def test_a_sink_that_never_ends_ends_the_run(tmp_path: Path, clock: list[float]) -> None:
    watched = watch(tmp_path)
    assert watched.stalled(statuses(40), ["receiver"]) is None
    clock[0] += 301.0
    assert watched.stalled(statuses(40), ["receiver"]) is not None


def test_without_images_to_write_a_receiver_stands_still_soon(tmp_path: Path, clock: list[float]) -> None:
    watched = watch(tmp_path)
    assert watched.stalled(statuses(0), ["receiver"]) is None
    clock[0] += 20.0
    found = watched.stalled(statuses(0), ["receiver"])
    assert found is not None
    assert found.node == "receiver"
