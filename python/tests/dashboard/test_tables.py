# SPDX-License-Identifier: Apache-2.0
"""Numbers of the page: texts from nodes appear as text, never as HTML."""

from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import Books, BufferStatus, Count, DestinationStatus, Status
from rashpa.dashboard.course import Course
from rashpa.dashboard.scene import Ending, NodeScene, Scene
from rashpa.dashboard.state_line import state_parts
from rashpa.dashboard.tables import books_table, nodes_table, vetoes_table

EVIL = "<script>alert(1)</script>"


def _scene(decided: int = 10, accepted: int = 4, elapsed_s: float = 1.0, time_s: float = 0.0) -> Scene:
    books = Books(expected=100, complete=decided, accepted=accepted, vetoed=decided - accepted, written=accepted)
    counts = (Count(group="veto", name="too_few", value=decided - accepted),)
    buffer = BufferStatus(
        name="full",
        sink_error="",
        unit="cpu",
        unit_error="",
        bytes_written=0,
        bytes_stored=0,
        books=books,
        counts=counts,
        slots=10,
    )
    status = Status(
        node="r",
        role="receiver",
        state="running",
        destination=DestinationStatus(
            receiver="r", elapsed_s=elapsed_s, memory="", first_incomplete="", counts=(), buffers=(buffer,)
        ),
    )
    return Scene(time_s, None, going=True, managed=True, nodes=(NodeScene("r", "http://r", status),))


def test_what_a_node_says_is_no_html() -> None:
    scene = _scene()
    node = replace(scene.nodes[0], name=EVIL, problem=EVIL)
    assert node.status is not None
    assert node.status.destination is not None
    buffer = replace(node.status.destination.buffers[0], name=EVIL, counts=(Count(group="veto", name=EVIL, value=3),))
    status = replace(node.status, destination=replace(node.status.destination, buffers=(buffer,)))
    evil = replace(scene, nodes=(replace(node, status=status),))
    for text in (books_table(evil), nodes_table(evil), vetoes_table(evil)):
        assert "<script>" not in text
        assert "&lt;script&gt;" in text


def test_books_are_those_of_the_report_when_the_run_has_ended() -> None:
    ended = replace(_scene(), going=False, ending=Ending("x", True, (), {"full": Books(expected=123456)}, ""))
    assert ">123,456<" in books_table(ended)
    assert ">100<" not in books_table(ended)


def test_vetoes_are_those_of_the_report_when_the_run_has_ended() -> None:
    # the node's last status may be of a moment before its last image
    books = Books(expected=100, complete=100, accepted=23, vetoed=77)
    counts = {"full": (Count(group="veto", name="too_few", value=77), Count(group="error", name="no_room", value=0))}
    ended = replace(_scene(), going=False, ending=Ending("x", True, (), {"full": books}, "", counts))
    for scene in (ended, replace(ended, nodes=())):  # with and without a node to look at
        text = vetoes_table(scene)
        assert ">77<" in text
        assert ">77.0%<" in text
        assert ">6<" not in text
        assert "no room" not in text


def test_hits_are_shares_of_what_was_decided_since_the_look_before() -> None:
    course = Course()
    for number, (decided, accepted) in enumerate(((10, 4), (20, 14), (20, 14), (40, 14))):
        course.add(_scene(decided, accepted, 1.0 + number))
    (curve,) = course.curves.values()
    assert curve.hits() == ([15.0, 30.0], [100.0, 0.0])


def test_a_long_course_is_thinned_out_and_keeps_its_ends() -> None:
    course = Course()
    for n in range(1500):
        course.add(_scene(10 * n, 4 * n, 1.0 + n))
    (curve,) = course.curves.values()
    assert len(curve.image) <= 600
    assert curve.image[0] == 0
    assert curve.image[-1] == 10 * 1499
    assert curve.image == sorted(curve.image)


def test_rates_are_of_the_nodes_clock_however_long_the_page_waited_for_others() -> None:
    # a detector of 100 Hz; the page looked 50 ms after it had waited 1.2 s for another node, which made 1,400 images a second of 70
    course = Course()
    for elapsed_s, time_s in ((1.0, 10.0), (1.7, 11.25), (2.4, 11.3), (2.4, 11.9), (3.1, 12.0)):
        course.add(_scene(int(100 * elapsed_s), 0, elapsed_s, time_s))
    (curve,) = course.curves.values()
    assert curve.time_s == [1.0, 1.7, 2.4, 3.1]
    assert curve.rate == pytest.approx([100.0] * 4)
    assert curve.pace.images_per_s == pytest.approx(100.0)


def test_a_look_at_another_run_of_the_same_node_begins_a_curve() -> None:
    course = Course()
    for decided, elapsed_s in ((500, 5.0), (600, 6.0), (700, 1.0)):  # more images than before, and an earlier clock
        course.add(_scene(decided, 0, elapsed_s))
    (curve,) = course.curves.values()
    assert (curve.time_s, curve.rate) == ([1.0], [700.0])


def test_the_state_is_one_line_and_what_is_lost_is_red() -> None:
    scene, course = _scene(), Course()
    course.add(scene)
    assert {part.name: part.text for part in state_parts(scene, course)} == {
        "state": "… nodes: starting",
        "hits": "hits 40.0%",
        "loss": "no loss",
    }
    ended = replace(
        scene,
        going=False,
        ending=Ending(
            "x", False, (), {"full": Books(expected=5, complete=1, partial=2, missing=2, accepted=2, errored=1)}, ""
        ),
    )
    parts = {part.name: part for part in state_parts(ended, course)}
    assert (parts["loss"].text, parts["loss"].mark) == ("✖ lost: 2 missing, 2 partial", "bad")
    assert (parts["errored"].text, parts["errored"].mark) == ("✖ 1 errored", "bad")


def test_the_line_of_state_says_frames_rate_and_the_time_left(tmp_path: Path) -> None:
    text = Path("examples/01_first_light.toml").read_text().replace('output = "out/demo"', f'output = "{tmp_path}"')
    (tmp_path / "run.toml").write_text(text)
    plan = load_plan(tmp_path / "run.toml")
    course = Course()
    for decided, elapsed_s in ((10, 1.0), (30, 2.0)):
        scene = replace(_scene(decided, 4, elapsed_s), plan=plan)
        course.add(scene)
    parts = {part.name: part.text for part in state_parts(scene, course)}
    assert parts["number"] == "run 1"
    assert parts["frames"] == "30 of 2,400 frames"
    assert parts["rate"] == "20.0 images/s"
    assert parts["left"] == "0:04 left"  # of 100 images that are expected
