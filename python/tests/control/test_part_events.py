# SPDX-License-Identifier: Apache-2.0
"""Events for parts of images: the key, its refusals, and its place in a plan's figures."""

from pathlib import Path

import pytest

from rashpa.control.capacity.loads import dtp_loads, memory_of
from rashpa.control.capacity.packets import Lines, traffic_of
from rashpa.control.plan.checks.part_events_check import part_events_problems
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.buffer_section import event_lines, events_of
from rashpa.control.runfile.run_file_reader import RunFileError

RUN = (
    '[run]\nname = "r"\nframes = 1000\n[detector]\nwidth = 1024\nheight = 512\nenergy_kev = 12.4\nrate_hz = 100.0\n'
    '[dataset]\nkind = "pattern"\nmodules = 1\nframes = 4\nwidth = 1024\nheight = 512\n[link]\nkind = "roce"\n'
    '[[buffer]]\nname = "full"\nstack = 4\nslots = 16\nevents = "lines:64"\n[[buffer.sink]]\nkind = "null"\n'
)


def plan_of(tmp_path: Path, *changes: tuple[str, str]) -> Plan:
    text = RUN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "run.toml"
    path.write_text(text)
    return load_plan(path)


@pytest.mark.parametrize(("text", "lines"), [("image", 0), ("lines:1", 1), ("lines:64", 64), ("lines:100000", 100_000)])
def test_the_key_names_the_lines_of_a_part(text: str, lines: int) -> None:
    assert event_lines(text) == lines


@pytest.mark.parametrize("text", ["", "lines", "lines:", "lines:0", "lines:-4", "lines:1.5", "rows:4", "lines:64 "])
def test_anything_else_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match='neither "image" nor "lines:N"'):
        event_lines(text)
    with pytest.raises(RunFileError, match=r'buffer\[0\].events: ".*" is neither "image" nor "lines:N"'):
        plan_of(tmp_path, ("lines:64", text))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('kind = "roce"', 'kind = "pcie"'), "link pcie has one event for an image"),
        (('kind = "roce"', 'kind = "roce"\n[link.roce]\nrecords = false'), "parts are told by their records"),
        (
            ("slots = 16", "slots = 1048576"),
            "8,388,608 can be told apart|lines:64",
        ),
    ],
)
def test_what_has_no_parts_is_refused(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    changes = [change] if "1048576" not in change[1] else [change, ("lines:64", "lines:1")]
    with pytest.raises(RunFileError, match=r"buffer\[0\].events: .*(" + says + ")"):
        plan_of(tmp_path, *changes)


def test_a_gpu_that_waits_for_words_takes_whole_images(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"buffer\[0\].events: lines:64, and a GPU that waits for words"):
        plan_of(
            tmp_path,
            ("stack = 4", 'unit = "cuda"\ntrigger = "word"\nstack = 4'),
            (
                "[[buffer.sink]]",
                '[[buffer.kernel]]\nname = "bragg_count"\nthreshold = 5\nmin_pixels = 1\n[[buffer.sink]]',
            ),
        )


def test_a_plan_counts_events_packets_and_records(tmp_path: Path) -> None:
    parted, whole = plan_of(tmp_path), plan_of(tmp_path, ("lines:64", "image"))
    (ours,), (theirs,) = dtp_loads(parted), dtp_loads(whole)
    assert (ours.events, theirs.events) == (8, 1)
    assert ours.events_per_s == 800.0
    assert ours.packets == theirs.packets + 7
    event = (ours.wire_bytes - theirs.wire_bytes) / 7
    assert 128 < event < 256
    assert memory_of(parted, parted.buffers[0])["records"] == 20480  # 16 slots of 8, one for skipped images, in pages
    assert memory_of(whole, whole.buffers[0])["records"] == 4096


def test_images_with_one_event_have_no_problem(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ("lines:64", "image"))
    buffers = {one.name: plan.buffers_of(one.name) for one in plan.receivers}
    assert not list(part_events_problems(plan.file, plan.emulators, plan.receivers, buffers, plan.source))


def test_messages_end_at_parts(tmp_path: Path) -> None:
    link = plan_of(tmp_path).file.link
    whole = traffic_of(Lines(8, 1024, True), link, "127.0.0.1")
    parted = traffic_of(Lines(8, 1024, True, 3), link, "127.0.0.1")
    assert (whole.packets, whole.events) == (2 + 1, 1)  # of four lines
    assert (parted.packets, parted.events) == (3 + 3, 3)  # of 3, 3 and 2
    assert events_of(8, "lines:3") == 3
    assert events_of(8, "lines:8") == events_of(8, "lines:9") == events_of(8, "image") == 1
