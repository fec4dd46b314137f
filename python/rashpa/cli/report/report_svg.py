# SPDX-License-Identifier: Apache-2.0
"""Turns a Bokeh plot into an SVG drawing that needs no script: for paper, for mail, and until the script has drawn the plot."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from bokeh.models import LogScale, VAreaStep
from numpy.typing import NDArray

from rashpa.cli.report.page_parts import Drawing, Shape, Tick

_WIDTH, _LEFT, _RIGHT, _TOP, _BELOW = 960, 52, 8, 18, 32
_HEIGHT = 190
_TICKS = 6
_DASHES = {"dashed": "6 3", "dotted": "2 3", "dotdash": "2 3 6 3", "dashdot": "6 3 2 3"}

_To = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def drawing_of(plot: Any) -> Drawing:
    """Return the drawing of a plot of areas, lines and steps."""
    log = isinstance(plot.x_scale, LogScale)
    curves = [(one.glyph, one.data_source.data) for one in plot.renderers]
    x_range = _range(plot.x_range, [_values(data, glyph.x) for glyph, data in curves])
    heights = [_values(data, name) for glyph, data in curves for name in _heights(glyph)]
    y_range = _range(plot.y_range, [*heights, np.zeros(1)])
    bottom = _HEIGHT - _BELOW
    to_x = _mapped(x_range, (_LEFT, _WIDTH - _RIGHT), log)
    to_y = _mapped(y_range, (bottom, _TOP), False)
    shapes = tuple(_shape(glyph, data, to_x, to_y) for glyph, data in curves)
    return Drawing(
        _WIDTH,
        _HEIGHT,
        _LEFT,
        bottom,
        str(plot.xaxis[0].axis_label or ""),
        str(plot.yaxis[0].axis_label or ""),
        shapes,
        tuple(_ticks(x_range, to_x, log)),
        tuple(_ticks(y_range, to_y, False)),
        tuple(_legend(plot, shapes)),
    )


def _heights(glyph: Any) -> tuple[Any, ...]:
    return (glyph.y1, glyph.y2) if isinstance(glyph, VAreaStep) else (glyph.y,)


def _values(data: Any, name: Any) -> NDArray[np.float64]:
    return np.asarray(data[name if isinstance(name, str) else name.field], np.float64)


def _range(given: Any, values: list[NDArray[np.float64]]) -> tuple[float, float]:
    known = np.concatenate([one[np.isfinite(one)] for one in values] or [np.zeros(1)])
    start, end = getattr(given, "start", None), getattr(given, "end", None)
    low = (
        float(start)
        if isinstance(start, int | float) and math.isfinite(start)
        else float(known.min(initial=0.0))
        if not known.size
        else float(known.min())
    )
    high = (
        float(end) if isinstance(end, int | float) and math.isfinite(end) else float(known.max()) if known.size else 1.0
    )
    return low, high if high > low else low + 1.0


def _mapped(values: tuple[float, float], places: tuple[float, float], log: bool) -> _To:
    low, high = (math.log10(max(one, 1e-12)) for one in values) if log else values

    def place(given: NDArray[np.float64]) -> NDArray[np.float64]:
        at = np.log10(np.maximum(given, 1e-12)) if log else given
        return places[0] + (at - low) / (high - low) * (places[1] - places[0])

    return place


def _shape(glyph: Any, data: Any, to_x: _To, to_y: _To) -> Shape:
    x = to_x(_values(data, glyph.x))
    if isinstance(glyph, VAreaStep):
        above, below = to_y(_values(data, glyph.y2)), to_y(_values(data, glyph.y1))
        upper, lower = _stepped(x, above), _stepped(x, below)
        return Shape(f"{_path(*upper)}L{_path(*(one[::-1] for one in lower))[1:]}Z", _word(glyph.fill_color), True)
    y = to_y(_values(data, glyph.y))
    if type(glyph).__name__ == "Step":
        x, y = _stepped(x, y)
    return Shape(_path(x, y), _word(glyph.line_color), False, _dashes(glyph))


def _stepped(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the corners of a step curve: each value holds until the next x."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Return an SVG path through the points. It is interrupted where a value is NaN."""
    parts: list[str] = []
    pen = "M"
    for across, down in zip(x.tolist(), y.tolist(), strict=True):
        if not (math.isfinite(across) and math.isfinite(down)):
            pen = "M"
            continue
        parts.append(f"{pen}{across:.1f} {down:.1f}")
        pen = "L"
    return "".join(parts) or "M0 0"


def _word(said: Any) -> str:
    return str(getattr(said, "value", said))


def _dashes(glyph: Any) -> str:
    said = getattr(glyph.line_dash, "value", glyph.line_dash)
    return _DASHES.get(said, "") if isinstance(said, str) else " ".join(map(str, said or ()))


def _ticks(values: tuple[float, float], to: _To, log: bool) -> Iterator[Tick]:
    if log:
        powers = range(math.ceil(math.log10(max(values[0], 1e-12))), math.floor(math.log10(values[1])) + 1)
        found = [10.0**power for power in powers]
    else:
        rough = (values[1] - values[0]) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(part * power for part in (1, 2, 5, 10) if part * power >= rough)
        first = math.ceil(values[0] / step)
        found = [number * step for number in range(first, math.floor(values[1] / step + 1e-9) + 1)]
    for value, place in zip(found, to(np.array(found, np.float64)).tolist(), strict=True):
        yield Tick(place, f"{value:,.6g}")


def _legend(plot: Any, shapes: tuple[Shape, ...]) -> Iterator[tuple[str, str, str]]:
    by_renderer = {one.id: shape for one, shape in zip(plot.renderers, shapes, strict=True)}
    for item in plot.legend[0].items if plot.legend else ():
        shape = by_renderer[item.renderers[0].id]
        yield _word(item.label), shape.colour, "" if shape.filled else shape.dashes
