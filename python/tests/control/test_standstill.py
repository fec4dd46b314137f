# SPDX-License-Identifier: Apache-2.0
"""A run with packets and no image, or with images that are not written, is reported within a second: by two statuses half a second apart, as the page
has them."""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.cli.run.status import NodeStatus, _drawn
from rashpa.cli.run.watch import Watched
from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.nodes.node_progress import progress_of
from rashpa.control.nodes.standstill import Standstill
from rashpa.control.runfile.engine_keys import BufferKeys
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import (
    Books,
    BufferStatus,
    Count,
    DestinationDtpStatus,
    DestinationStatus,
    Status,
)
from rashpa.dashboard.course import Course
from rashpa.dashboard.scene import NodeScene, Scene
from rashpa.dashboard.state_line import state_parts
from rashpa.testing.waiting import slowed

Link = dict[str, int]


def look(second: float, images: int, link: Link, to_write: int = 0, **books: int | str) -> Status:
    """Return the status of a receiver with one buffer of eight slots and one DTP. `images`: images that its link has decided."""
    texts = {name: str(books.pop(name, "")) for name in ("unit_error", "sink_error", "busy")}
    dtp = DestinationDtpStatus(id=0, module=0, expected=99, complete=images, partial=0, missing=0, lines_missing=0)
    buffer = BufferStatus(
        name="full", unit="", bytes_written=0, bytes_stored=0, to_write=to_write, slots=8, books=Books(**books), dtps=(dtp,), **texts  # type: ignore[arg-type]
    )  # fmt: skip
    counts = tuple(Count(group="link", name=name, value=value) for name, value in link.items())
    place = DestinationStatus(
        receiver="rx", elapsed_s=second, memory="huge", first_incomplete="", counts=counts, buffers=(buffer,)
    )
    return Status(node="rx", role="receiver", state="running", destination=place)


def clock(looks: list[Status]) -> Callable[[], float]:
    """Return a clock that shows each status' own time."""
    times = iter([status.destination.elapsed_s for status in looks if status.destination])
    return lambda: next(times)


# the looks, half a second apart, and words of what is said at the last; empty: nothing
CASES: dict[str, tuple[list[Status], str]] = {
    "a wrong key": ([look(1, 3, {"packets": 10}), look(1.5, 3, {"packets": 30, "refused_key": 20})], "no image: 20 have a wrong key"),
    "lost events": ([look(1, 0, {"packets": 10}), look(1.5, 0, {"packets": 30})], "lines or events of each image are lost"),
    "refused before": ([look(1, 0, {"packets": 90, "malformed": 7}), look(1.5, 0, {"packets": 99, "malformed": 7})], "lines or events"),
    "images": ([look(1, 3, {"packets": 10}), look(1.5, 4, {"packets": 30, "refused_key": 5})], ""),
    "silence": ([look(1, 3, {"packets": 10}), look(1.5, 3, {"packets": 10})], ""),
    "a burst cut in two": ([look(1, 3, {"packets": 10}), look(1.1, 3, {"packets": 15})], ""),
    "two short looks": ([look(1, 3, {"packets": 10}), look(1.2, 3, {"packets": 15}), look(1.4, 3, {"packets": 19})], "packets come and no image"),
    "another run": ([look(1, 3, {"packets": 90}), look(1.5, 0, {"packets": 20})], ""),
    "a kernel that fails": ([look(1, 5, {}, errored=5), look(1.5, 9, {}, errored=9, unit_error="it divides by 0")], "every one is errored: it divides by 0"),
    "some fail": ([look(1, 5, {}, errored=1, written=4), look(1.5, 9, {}, errored=2, written=7)], ""),
    "all are vetoed": ([look(1, 5, {}, vetoed=5), look(1.5, 9, {}, vetoed=9)], ""),
    "a full ring": ([look(1, 5, {}, accepted=5, to_write=8), look(1.5, 9, {}, accepted=5, to_write=8, sink_error="disk full")], "all 8 slots wait: disk full"),
    "a stuck kernel": ([look(1, 5, {}, to_write=5), look(1.5, 9, {}, to_write=8, busy="kernel fit")], "none goes out: all 8 slots wait: kernel fit"),
    "a full ring that moves": ([look(1, 5, {}, written=5, to_write=8), look(1.5, 9, {}, written=6, to_write=8)], ""),
    "half a ring": ([look(1, 5, {}, written=5, to_write=4), look(1.5, 5, {}, written=5, to_write=4)], ""),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_it_is_said_at_the_second_look(case: str) -> None:
    looks, words = CASES[case]
    standstill = Standstill(clock(looks))
    said = [standstill.look(status) for status in looks][-1]
    assert bool(said) == bool(words), said
    assert words in "".join(said)


def test_a_node_that_does_not_run_is_no_trouble() -> None:
    standstill = Standstill()
    looks, _ = CASES["a wrong key"]
    assert [standstill.look(replace(status, state="armed")) for status in looks] == [(), ()]
    assert standstill.look(Status(node="rx", role="receiver", state="idle")) == ()


def test_page_and_table_show_it_in_red() -> None:
    looks, words = CASES["a wrong key"]
    course = Course()
    course._standstill = Standstill(clock(looks))
    for status in looks:
        scene = Scene(1.0, None, going=True, managed=True, nodes=(NodeScene("rx", "http://rx", status),))
        course.add(scene)
    (part,) = [part for part in state_parts(scene, course) if part.name == "standing"]
    assert (part.mark, words in part.text) == ("bad", True)

    standstill = Standstill(clock(looks))
    standing = [standstill.look(status) for status in looks][-1]
    node = Watched[NodeStatus](NodeClient("rx", "http://rx"))
    node.view = NodeStatus("rx", "receiver", "running", "", "", progress_of(*looks), standing, looks[-1], standstill)
    from rich.console import Console

    console = Console(width=200, force_terminal=True, color_system="standard", record=True)
    with console.capture() as capture:
        console.print(_drawn([node]))
    assert "\x1b[1;31m" in capture.get()
    assert "packets come and no image" in capture.get()
    assert node.document()["standing"] == list(standing) or node.document()["standing"] == standing
    assert "watch" not in node.document()


def test_packets_of_another_run_are_red_within_a_second(tmp_path: Path) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.control.runfile.sink_sections import NullSink
    from rashpa.node.judge.rules import Verdicts
    from rashpa.node.judge.trial_sender import Spoilt, TrialSender
    from rashpa.testing.warm_nodes import WarmNodes

    async def seconds(url: str) -> tuple[float, str]:
        client = NodeClient("receiver", url, owner=secrets.token_hex(16))
        dtp = telegram.DestinationDtp(id=0, width=64, height=2)
        buffer = telegram.Buffer(
            name="full",
            width=64,
            height=2,
            keys=BufferKeys(slots=4, stack=1),
            images=1000,
            dtps=(dtp,),
            sinks=(NullSink(kind="null"),),
        )
        answer = await client.configure(telegram.Configure(destination=telegram.Destination(buffers=(buffer,))))
        sender = TrialSender(0, 1, answer.endpoints[0], answer.placements[0], "127.0.0.1", Verdicts(), True)
        await client.order(telegram.Arm(endpoints=(sender.endpoint,)))
        await client.order(telegram.Start())
        standstill, began = Standstill(), time.monotonic()
        said: tuple[str, ...] = ()
        try:
            while not said and time.monotonic() - began < 30.0:
                sender.line(0, 0, bytes(256), Spoilt(key=1))
                said = standstill.look(await client.status())
                await asyncio.sleep(0.05)  # wait: looks of a page are apart
            return time.monotonic() - began, "".join(said)
        finally:
            await client.order(telegram.Reset())
            await client.close()
            sender.close()

    with WarmNodes(tmp_path) as nodes:
        took, said = asyncio.run(seconds(nodes.url("receiver")))
    assert "have a wrong key" in said
    assert took < slowed(5.0), "a second where others do not take the processors"
