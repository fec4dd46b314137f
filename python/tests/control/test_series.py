# SPDX-License-Identifier: Apache-2.0
import asyncio
from pathlib import Path

import pytest

from rashpa.control.books.series_books import series_of
from rashpa.control.orders.plan_telegrams import destination_telegram
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.part_orders import Hdf5Order
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import transports_of

RUN = """\
[run]
name = "row"
frames = 130
series_frames = {length}
output = "{output}"
[detector]
width = 32
height = 16
rate_hz = 0.0
[dataset]
kind = "pattern"
width = 32
height = 16
[receiver]
port = 0
[faults]
dead_modules = [{{ module = 0, from_frame = 55 }}]
[[buffer]]
name = "all"
stack = 5
slots = 20
sink = [{{ kind = "hdf5" }}]
[[buffer]]
name = "some"
every = 5
phase = 2
stack = 2
slots = 4
sink = [{{ kind = "null" }}]
{extra}
"""


def run_file(folder: Path, length: int, extra: str = "") -> Path:
    path = folder / "run.toml"
    path.write_text(RUN.format(length=length, output=folder / "out", extra=extra))
    return path


def test_each_series_has_its_books_and_all_together_are_those_of_the_run(tmp_path: Path) -> None:
    plan = load_plan(run_file(tmp_path, 50))

    async def run() -> Manager:
        nodes = {role: Node(role, role, FakeFactory(role)) for role in ("emulator", "receiver")}
        manager = Manager(plan, transports=transports_of(nodes))
        outcome = await manager.run()
        assert outcome.good, outcome.problem
        series = series_of(outcome)
        assert [(one.number, one.first_frame, one.frames) for one in series] == [(1, 0, 50), (2, 50, 50), (3, 100, 30)]
        assert [[books.expected for books in one.books] for one in series] == [[50, 10], [50, 10], [30, 6]]
        assert [[books.complete for books in one.books] for one in series] == [[50, 10], [5, 1], [0, 0]]
        assert [[books.missing for books in one.books] for one in series] == [[0, 0], [45, 9], [30, 6]]
        for number, name in enumerate(("all", "some")):
            status = next(buffer for buffer in outcome.buffers if buffer.name == name)
            for key in ("expected", "complete", "missing", "accepted", "vetoed"):
                assert sum(getattr(one.books[number], key) for one in series) == getattr(status.books, key), key
        return manager

    asyncio.run(run())


def test_sinks_are_told_how_many_images_of_theirs_a_series_has(tmp_path: Path) -> None:
    plan = load_plan(run_file(tmp_path, 50))
    order = destination_telegram(plan, plan.receivers[0]).destination
    assert order is not None
    (sink,) = order.buffers[0].sinks
    assert isinstance(sink, Hdf5Order)
    assert sink.series_images == 50


@pytest.mark.parametrize(
    ("length", "proposed", "buffer"), [(15, 20, "some"), (52, 50, "all"), (3, 10, "all"), (25, 20, "some")]
)
def test_a_series_that_would_end_within_a_stack_is_refused_with_one_that_fits(
    tmp_path: Path, length: int, proposed: int, buffer: str
) -> None:
    with pytest.raises(RunFileError, match=f"within a stack of buffer {buffer}") as refused:
        load_plan(run_file(tmp_path, length))
    assert f"try series_frames = {proposed}" in str(refused.value)
    load_plan(run_file(tmp_path, proposed))


def test_a_stream_has_no_series(tmp_path: Path) -> None:
    path = run_file(tmp_path, 50)
    path.write_text(path.read_text().replace('kind = "null"', 'kind = "stream2"'))
    with pytest.raises(RunFileError, match="stream2 sends a whole run as one series"):
        load_plan(path)


def test_a_series_holds_whole_windows_of_sums(tmp_path: Path) -> None:
    extra = '[[buffer.kernel]]\nname = "accumulate"\nwindow = 4\n'
    with pytest.raises(RunFileError, match="which needs whole 20 frames"):
        load_plan(run_file(tmp_path, 50, extra))
    load_plan(run_file(tmp_path, 60, extra))
