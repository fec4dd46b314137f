# SPDX-License-Identifier: Apache-2.0
"""Numbers of the page: what nodes say is text there, never HTML."""

from dataclasses import replace

from rashpa.control.telegrams.telegram import Books, BufferStatus, Count, DestinationStatus, Status
from rashpa.dashboard.course import Course
from rashpa.dashboard.scene import Ending, NodeScene, Scene
from rashpa.dashboard.tables import books_table, nodes_table, vetoes_table

EVIL = "<script>alert(1)</script>"


def _scene(decided: int = 10, accepted: int = 4) -> Scene:
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
            receiver="r", elapsed_s=1.0, memory="", first_incomplete="", counts=(), buffers=(buffer,)
        ),
    )
    return Scene(0.0, None, going=True, managed=True, nodes=(NodeScene("r", "http://r", status),))


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
    for decided, accepted in ((10, 4), (20, 14), (20, 14), (40, 14)):
        course.add(_scene(decided, accepted))
    (curve,) = course.curves.values()
    assert curve.hits() == ([15.0, 30.0], [100.0, 0.0])


def test_a_long_course_is_thinned_out_and_keeps_its_ends() -> None:
    course = Course()
    for n in range(1500):
        course.add(_scene(10 * n, 4 * n))
    (curve,) = course.curves.values()
    assert len(curve.image) <= 600
    assert curve.image[0] == 0
    assert curve.image[-1] == 10 * 1499
    assert curve.image == sorted(curve.image)
