# SPDX-License-Identifier: Apache-2.0
"""Draws the curves of a report with Bokeh. Nothing covers the data, and colour is never the only carrier of a meaning."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, NumeralTickFormatter, Range1d
from bokeh.plotting import figure
from numpy.typing import NDArray

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.model import PlannedBuffer
from rashpa.control.telegrams.latency import BOUNDS_S
from rashpa.control.telegrams.telegram import Latency
from rashpa.dashboard.style import COLOURS, DASHES, HATCHES, LINES

_BINS = 400


Steps = Sequence[tuple[int, float]]
"""The values of a limit, each with the first image that has it."""


@dataclass(frozen=True)
class Frames:
    """Holds the x axis that all curves along a run share. `per_s`: the requested frame rate; with 0, the run is unthrottled and the axis counts
    frames."""

    end: float
    per_s: float = 0.0
    range: Range1d = field(default_factory=Range1d)

    @property
    def name(self) -> str:
        return f"seconds of the run, at {self.per_s:g} frames/s" if self.per_s else "frame number"

    def at(self, frames: NDArray[Any]) -> NDArray[np.float64]:
        """Return the positions of frames on the axis."""
        return np.asarray(frames, np.float64) / (self.per_s or 1.0)


def frames_of(outcome: Outcome) -> Frames:
    """Return the axis of a run."""
    per_s = outcome.plan.file.detector.rate_hz
    end = max(1, outcome.frames)
    return Frames(end, per_s, Range1d(start=0, end=end / (per_s or 1.0)))


def shares(table: NDArray[np.uint8], states: int, bins: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bin edges in images, and the percentage of images in each state and bin, as [state][bin]."""
    edges = np.unique(np.linspace(0, table.size, min(bins, table.size) + 1).astype(np.int64))
    counts = np.stack([np.add.reduceat(table == state, edges[:-1], dtype=np.int64) for state in range(states)]).astype(
        np.float64
    )
    return edges.astype(np.float64), 100.0 * counts / np.diff(edges)


def _plot(height: int, x: str, y: str, **more: Any) -> Any:
    plot = figure(
        height=height,
        sizing_mode="stretch_width",
        x_axis_label=x,
        y_axis_label=y,
        tools="xpan,xwheel_zoom,reset,save",
        **more,
    )
    if more.get("x_axis_type") != "log":
        plot.xaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
    plot.yaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    return plot


def _legend_beside(plot: Any) -> Any:
    """Move the legend above the plot, so that it covers no data."""
    if plot.legend:
        plot.add_layout(plot.legend[0], "above")
        plot.legend[0].orientation = "horizontal"
        plot.legend[0].border_line_color = None
        plot.legend[0].padding = plot.legend[0].margin = 2
    return plot


def share_plot(buffer: PlannedBuffer, table: NDArray[np.uint8], states: Sequence[str], axis: Frames) -> Any:
    """Plot one area for each state. Bars are not used: with many images, bars narrower than a pixel would show patterns that the data do not have."""
    edges, percent = shares(table, len(states), _BINS)
    frames = axis.at(buffer.section.phase + edges * buffer.section.every)
    plot = _plot(180, axis.name, "% of images")
    plot.y_range = Range1d(start=0, end=100)
    plot.x_range = axis.range
    bottom = np.zeros(percent.shape[1])
    for state, values in zip(states, percent, strict=True):
        if values.any():
            data = {"x": frames, "y1": _to_the_end(bottom), "y2": _to_the_end(bottom + values)}
            plot.varea_step(
                "x",
                "y1",
                "y2",
                step_mode="after",
                source=ColumnDataSource(data),
                fill_color=COLOURS.get(state, COLOURS["open"]),
                hatch_pattern=HATCHES.get(state),
                hatch_alpha=0.35,
                legend_label=f"{state} ({np.count_nonzero(table == states.index(state)):,})",
            )
            bottom = bottom + values
    return _legend_beside(plot)


def _to_the_end(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append the last value once more, because a step plot draws each value over the interval after it."""
    return np.append(values, values[-1])


def hit_plot(
    buffer: PlannedBuffer, column: str, values: NDArray[Any], limits: Mapping[str, Steps], axis: Frames
) -> Any:
    """Plot the values that a verdict compares with `limits`; each step of the limits holds from its image on. A bin shows its largest value, so that
    every hit is visible."""
    edges = np.unique(np.linspace(0, values.size, min(4 * _BINS, values.size) + 1).astype(np.int64))
    frames = axis.at(buffer.section.phase + edges * buffer.section.every)
    top = np.maximum.reduceat(values, edges[:-1]).astype(np.float64)
    plot = _plot(220, axis.name, column.replace("_", " "))
    plot.x_range = axis.range
    data = {"x": frames, "y1": np.zeros(frames.size), "y2": _to_the_end(top)}
    plot.varea_step("x", "y1", "y2", step_mode="after", source=ColumnDataSource(data), fill_color=COLOURS["accepted"])
    for (name, steps), dash in zip(limits.items(), DASHES[1:], strict=False):
        known = ", ".join(f"{value:g}{f' from image {image:,}' if image else ''}" for image, value in steps)
        borders = axis.at(buffer.section.phase + np.array([image for image, _ in steps]) * buffer.section.every)
        plot.line(
            np.append(np.repeat(borders, 2)[1:], frames[-1]),
            np.repeat([value for _, value in steps], 2),
            color=COLOURS["errored"],
            line_dash=dash,
            line_width=2,
            legend_label=f"{name.replace('_', ' ')} = {known}",
        )
    return _legend_beside(plot)


def curve_plot(axis: str, x: NDArray[np.float64], y: NDArray[np.float64], name: str) -> Any:
    """Plot an azimuthal curve."""
    plot = _plot(220, axis.replace("_", " "), name.replace("_", " "))
    plot.line(x, y, color=LINES[0], line_width=1.5)
    return plot


def latency_plot(latencies: Iterable[Latency]) -> Any:
    """Plot the distribution of latencies of stacks or images, by stage; return None when no node has sent any."""
    told = [latency for latency in latencies if latency.below and latency.count]
    if not told:
        return None
    counted = [np.diff(np.array([0, *latency.below, latency.count], np.float64)) for latency in told]
    bounds = np.array([BOUNDS_S[0] / 2, *BOUNDS_S, 2 * BOUNDS_S[-1]]) * 1e6
    used = np.flatnonzero(np.any(counted, axis=0))
    first, end = int(used[0]), int(used[-1]) + 2
    plot = _plot(220, "µs", "number", x_axis_type="log")
    for latency, counts, colour, dash in zip(told, counted, LINES, DASHES, strict=False):
        x = np.concatenate([bounds[first:end][:1], bounds[first:end]])
        y = np.concatenate([[0.0], counts[first : end - 1], [0.0]])
        label = f"{latency.stage} ({latency.count:,})"
        plot.step(x, y, mode="after", color=colour, line_dash=dash, line_width=2, legend_label=label)
    return _legend_beside(plot)
