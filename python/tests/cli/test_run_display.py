# SPDX-License-Identifier: Apache-2.0
import io
from pathlib import Path

import pytest
from rich.console import Console

from rashpa.cli.run.run_display import RunDisplay
from rashpa.cli.titled import Titled
from rashpa.control.books.outcome import Progress
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import Books, BufferStatus, Count, DestinationStatus, Status
from rashpa.testing.group_plan import plan_of
from rashpa.testing.run_file import run_file

RUN = run_file(run={"name": "slow", "frames": 800}, receiver=None)


def progress(decided: int, to_write: int, elapsed_s: float) -> Progress:
    buffer = BufferStatus(
        name="full",
        sink_error="",
        unit="",
        unit_error="",
        bytes_written=0,
        bytes_stored=0,
        books=Books(expected=800, complete=decided),
        to_write=to_write,
    )
    destination = DestinationStatus(
        receiver="receiver", elapsed_s=elapsed_s, memory="", first_incomplete="", counts=(), buffers=(buffer,)
    )
    return Progress(
        "finishing",
        800,
        1.0,
        {},
        {"receiver": Status(node="r", role="receiver", state="running", destination=destination)},
    )


def test_a_slow_sink_at_the_end_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("rashpa.cli.run.run_display.time.monotonic", lambda: now[0])
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    said = io.StringIO()
    with RunDisplay(Console(file=said, width=200), load_plan(path), quiet=False) as display:
        display.show(progress(300, 100, 1.0))
        assert "writing" not in said.getvalue()
        now[0] = 6.0
        display.show(progress(312, 88, 7.0))
        now[0] = 12.0
        display.show(progress(800, 0, 13.0))
    assert "writing: 312 of 800 images, 88 wait, 2.0 images/s" in said.getvalue()
    assert "files are being completed" in said.getvalue()


def running(decided: int, vetoed: int = 0, missing: int = 0, elapsed_s: float = 1.0) -> Progress:
    books = Books(expected=800, complete=decided, missing=missing, accepted=decided - vetoed, vetoed=vetoed)
    counts = (Count(group="link", name="payload_bytes", value=decided * 10_000_000),)
    destination = DestinationStatus(
        receiver="receiver",
        elapsed_s=elapsed_s,
        memory="",
        first_incomplete="",
        counts=counts,
        buffers=(
            BufferStatus(
                name="full", sink_error="", unit="", unit_error="", bytes_written=0, bytes_stored=0, books=books
            ),
        ),
    )
    return Progress(
        "running",
        800,
        1.0,
        {},
        {"receiver": Status(node="r", role="receiver", state="running", destination=destination)},
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("rashpa.cli.run.run_display.time.monotonic", lambda: now[0])
    return now


def test_without_a_terminal_a_line_says_rate_hits_and_time_left_every_few_seconds(
    tmp_path: Path, clock: list[float]
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    said = io.StringIO()
    with RunDisplay(Console(file=said, width=40), load_plan(path), quiet=False) as display:
        for second in range(12):
            clock[0] = float(second)
            display.show(running(20 * second, 15 * second, elapsed_s=1.0 + second))
    lines = said.getvalue().splitlines()
    assert lines[0] == "running: 100 of 800 images (12%), 20 images/s, 0.20 GB/s, 25.0% hits, 0:35 left"
    assert len(lines) == 2


def test_a_group_is_as_far_as_its_members_are_together(tmp_path: Path, clock: list[float]) -> None:
    plan = plan_of(tmp_path)
    images = plan.buffers[0].images

    def member(decided: int, elapsed_s: float) -> Status:
        books = Books(expected=decided, complete=decided, accepted=decided)
        destination = DestinationStatus(
            receiver="r",
            elapsed_s=elapsed_s,
            memory="",
            first_incomplete="",
            counts=(),
            buffers=(
                BufferStatus(
                    name="b", sink_error="", unit="", unit_error="", bytes_written=0, bytes_stored=0, books=books
                ),
            ),
        )
        return Status(node="r", role="receiver", state="running", destination=destination)

    said = io.StringIO()
    with RunDisplay(Console(file=said, width=40), plan, quiet=False) as display:
        for second in (0, 6):
            clock[0] = float(second)
            members = {"a": member(second // 3, 1.0 + second), "b": member(second // 6, 0.5 + second)}
            display.show(Progress("running", images, 1.0, {}, members))
    assert images == 10
    assert said.getvalue().splitlines() == [
        "running a: 2 images of group farm, 3 of 10 (30%), 0 images/s, 0.00 GB/s, 0:14 left",
        "running b: 1 images of group farm, 3 of 10 (30%), 0 images/s, 0.00 GB/s, 0:14 left",
    ]


def test_how_much_of_the_dataset_is_made_is_said_while_it_is_configured(tmp_path: Path, clock: list[float]) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    said = io.StringIO()
    with RunDisplay(Console(file=said, width=40), load_plan(path), quiet=False) as display:
        clock[0] = 6.0
        status = Status(node="e", role="emulator", state="idle", prepared=0.25)
        display.show(Progress("configuring the emulator (dataset)", 800, 0.0, {"emulator": status}))
    assert said.getvalue() == "configuring the emulator (dataset): 25%\n"


def test_quiet_is_quiet(tmp_path: Path, clock: list[float]) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    said = io.StringIO()
    with RunDisplay(Console(file=said, width=40), load_plan(path), quiet=True) as display:
        clock[0] = 60.0
        display.show(running(20))
    assert said.getvalue() == ""


def test_a_bar_on_a_terminal_has_rate_hits_and_time_left(tmp_path: Path, clock: list[float]) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    said = io.StringIO()
    console = Console(file=said, width=100, force_terminal=True, color_system=None)
    with RunDisplay(console, load_plan(path), quiet=False) as display:
        display.show(running(0))
        clock[0] = 2.0
        display.show(running(40, 30, elapsed_s=3.0))
        display._bar.refresh()
    assert "20 images/s, 0.20 GB/s, 25.0% hits, 0:38 left" in said.getvalue()


def test_the_title_of_a_narrow_table_is_one_line() -> None:
    console = Console(record=True, width=80, file=io.StringIO())
    table = Titled("run first: the books of a narrow table")
    table.add_column("x")
    table.print(console)
    assert "run first: the books of a narrow table\n" in console.export_text()
