# SPDX-License-Identifier: Apache-2.0
"""Plots of numbers: shares of images with a known fate, and lines that are reused from one run to the next."""

import dataclasses

import pytest

from rashpa.control.telegrams.telegram import Books, BufferStatus, Status
from rashpa.dashboard.curves import BookBars, Lines
from rashpa.dashboard.scene import Ending, NodeScene, Scene
from rashpa.dashboard.style import LINES
from rashpa.testing.status_samples import status_samples

Curve = tuple[list[float], list[float]]


def _scene(*books: Books) -> Scene:
    status = status_samples()["status_receiver"]
    assert isinstance(status, Status)
    assert status.destination is not None
    buffers = tuple(
        BufferStatus(
            name=f"b{number}", sink_error="", unit="cpu", unit_error="", bytes_written=0, bytes_stored=0, books=one
        )
        for number, one in enumerate(books)
    )
    status = dataclasses.replace(status, destination=dataclasses.replace(status.destination, buffers=buffers))
    return Scene(0.0, None, going=True, managed=True, nodes=(NodeScene("r", "http://r", status),))


def _bars(bars: BookBars) -> dict[str, float]:
    """Return the share of each state, in %."""
    (glyph, *_) = bars.plot.renderers
    data = glyph.data_source.data
    places = {row: place for place, row in enumerate(data["row"])}
    rows = {"arrived": ("complete", "partial", "missing"), "decided": ("accepted", "vetoed", "errored")}
    for row, states in rows.items():
        other = next(place for name, place in places.items() if name != row)
        assert [data[state][other] for state in states] == [0.0, 0.0, 0.0], "each row has its own states"
    return {state: data[state][places[row]] for row, states in rows.items() for state in states}


def test_bars_are_shares_of_the_images_of_all_buffers_with_a_known_fate() -> None:
    bars = BookBars()
    bars.update(
        _scene(
            Books(expected=1000, complete=60, partial=20, accepted=30, vetoed=10, errored=0),
            Books(expected=1000, complete=90, missing=30, accepted=100, vetoed=0, errored=20),
        )
    )
    assert _bars(bars) == pytest.approx(
        {"complete": 75.0, "partial": 10.0, "missing": 15.0, "accepted": 65.0, "vetoed": 5.0, "errored": 10.0}
    )


def test_bars_of_a_run_without_images_are_empty_and_of_one_that_has_ended_those_of_its_report() -> None:
    bars, scene = BookBars(), _scene(Books(expected=5))
    bars.update(scene)
    assert set(_bars(bars).values()) == {0.0}
    ended = Ending("x", True, (), {"full": Books(expected=4, complete=3, missing=1, accepted=3)}, "")
    bars.update(dataclasses.replace(scene, going=False, ending=ended))
    assert (_bars(bars)["complete"], _bars(bars)["missing"]) == (75.0, 25.0)


def _shown(lines: Lines) -> dict[str, Curve]:
    """Return the curves that the legend names, with their points."""
    (legend,) = lines.plot.legend
    shown = {}
    for item in legend.items:
        (line,) = item.renderers
        if item.visible:
            shown[item.label.value] = (list(line.data_source.data["x"]), list(line.data_source.data["y"]))
        else:
            assert list(line.data_source.data["x"]) == []
    return shown


def _curves(*names: str) -> dict[str, Curve]:
    return {name: ([0.0, 1.0], [float(number), 2.0]) for number, name in enumerate(names)}


def test_lines_of_one_run_are_free_for_those_of_the_next() -> None:
    lines = Lines("rate", 190, "seconds", "images / s")
    for run in range(2 * len(LINES)):
        curves = _curves(f"run{run}: a", f"run{run}: b")
        lines.update(curves)
        assert _shown(lines) == curves, f"run {run}"
        assert lines.plot.visible
    lines.update({})
    assert _shown(lines) == {}
    assert not lines.plot.visible


def test_no_more_curves_are_drawn_than_there_are_colours_whichever_come_first() -> None:
    lines = Lines("rate", 190, "seconds", "images / s")
    names = [f"b{number}" for number in range(len(LINES) + 2)]
    lines.update(_curves(*names))
    assert list(_shown(lines)) == names[: len(LINES)]
    lines.update(_curves(*reversed(names)))
    assert set(_shown(lines)) == set(names[2:])


def test_a_curve_that_stays_keeps_its_line_and_name() -> None:
    lines = Lines("rate", 190, "seconds", "images / s")
    lines.update(_curves("a", "b"))
    before = lines.plot.select_one({"name": "b"})
    lines.update({"b": ([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])})
    assert before is not None
    assert lines.plot.select_one({"name": "b"}) is before
    assert _shown(lines) == {"b": ([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])}
