# SPDX-License-Identifier: Apache-2.0
"""Draws the plots of numbers: books as bars, rates, hits, latencies."""

from typing import Any

from bokeh.core.validation import silence
from bokeh.core.validation.warnings import MISSING_RENDERERS
from bokeh.models import (
    ColumnDataSource,
    CustomJSTickFormatter,
    FixedTicker,
    Legend,
    LegendItem,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.plotting import figure

from rashpa.control.telegrams.latency import BOUNDS_S
from rashpa.dashboard.course import Course
from rashpa.dashboard.scene import Scene
from rashpa.dashboard.style import COLOURS, DASHES, HATCHES, LINES
from rashpa.dashboard.tables import latency_bins

silence(MISSING_RENDERERS)  # curves come with the buffers
_ROWS = {"arrived": ("complete", "partial", "missing"), "decided": ("accepted", "vetoed", "errored")}
_MOST_LINES = len(LINES)


def _figure(height: int, **said: Any) -> Any:
    plot = figure(height=height, sizing_mode="stretch_width", toolbar_location="right", **said)
    plot.toolbar.logo = None
    plot.min_border_left = 44
    plot.grid.grid_line_color = "#e5e8eb"
    plot.outline_line_color = None
    return plot


class BookBars:
    """Draws arrivals and decisions of all buffers, as percentages of the images with a known fate."""

    def __init__(self) -> None:
        self.plot = _figure(140, y_range=["decided", "arrived"], x_range=Range1d(0, 100), tools="hover,save")
        self.plot.toolbar_location = None
        self.plot.hover.tooltips = [("", "$name: @$name{0.00} %")]
        self.plot.xaxis.axis_label = "% of the images until now"
        states = [state for row in _ROWS.values() for state in row]
        self._source = ColumnDataSource({"row": list(_ROWS), **{state: [0.0, 0.0] for state in states}}, name="bars")
        self.plot.hbar_stack(
            states,
            y="row",
            height=0.7,
            source=self._source,
            color=[COLOURS[state] for state in states],
            hatch_pattern=[HATCHES.get(state, "blank") for state in states],
            hatch_alpha=0.5,
            line_color="white",
            legend_label=states,
        )
        self.plot.add_layout(self.plot.legend[0], "above")
        legend = self.plot.legend[0]
        legend.orientation, legend.label_text_font_size, legend.padding, legend.border_line_color = (
            "horizontal",
            "11px",
            0,
            None,
        )
        legend.ncols = 3  # as many as a telephone has room for
        legend.spacing, legend.glyph_width, legend.label_standoff = 10, 14, 3

    def update(self, scene: Scene) -> None:
        """Show the sum over all buffers."""
        books = [buffer.status.books for buffer in scene.buffers]
        if scene.ending is not None and scene.ending.books:
            books = list(scene.ending.books.values())
        known = max(1, sum(one.complete + one.partial + one.missing for one in books))
        data: dict[str, list[Any]] = {"row": list(_ROWS)}
        for row, states in _ROWS.items():
            for state in states:
                share = 100.0 * sum(getattr(one, state) for one in books) / known
                data[state] = [share if row == own else 0.0 for own in _ROWS]
        if data != dict(self._source.data):
            self._source.data = data


class Lines:
    """Draws several curves over one axis, one for each buffer or stage, distinguished by colour and dashes. All lines are made with the plot, since
    Bokeh takes long to add one to an open page."""

    def __init__(self, name: str, height: int, x: str, y: str, **said: Any) -> None:
        self.plot = _figure(
            height, x_axis_label=x, y_axis_label=y, tools="xpan,xwheel_zoom,reset,hover,save", visible=False, **said
        )
        self.plot.toolbar.active_scroll = None
        self.plot.hover.tooltips = [("", "$name"), (x, "@x"), (y, "@y{0,0.0}")]
        self.plot.xaxis.formatter = self.plot.yaxis.formatter = NumeralTickFormatter(format="0,0[.]0")
        self._name = name
        self._free = [self._line(n) for n in range(_MOST_LINES)]
        self._known: dict[str, tuple[Any, LegendItem]] = {}
        self._add_legend()

    def _line(self, n: int) -> tuple[Any, LegendItem]:
        source = ColumnDataSource({"x": [], "y": []})
        line = self.plot.line("x", "y", source=source, line_width=2, color=LINES[n], line_dash=DASHES[n])
        return line, LegendItem(label="", renderers=[line], visible=False)

    def _add_legend(self) -> None:
        legend = Legend(items=[item for _, item in self._free], ncols=3, orientation="horizontal")
        legend.label_text_font_size, legend.padding, legend.border_line_color = "11px", 0, None
        self.plot.add_layout(legend, "above")

    def update(self, curves: dict[str, tuple[list[float], list[float]]]) -> None:
        """Show these curves, by their legend labels; hide other curves."""
        self.plot.visible = any(x for x, _ in curves.values())
        shown = dict(list(curves.items())[:_MOST_LINES])
        for label in [label for label in self._known if label not in shown]:
            line, item = self._known.pop(label)
            line.data_source.data, item.visible = {"x": [], "y": []}, False
            self._free.append((line, item))
        for label, (x, y) in shown.items():
            if label not in self._known:
                self._known[label] = self._named(label)
            source = self._known[label][0].data_source
            if len(source.data["x"]) != len(x) or source.data["y"] != y:
                source.data = {"x": x, "y": y}

    def _named(self, label: str) -> tuple[Any, LegendItem]:
        """Give a free line this label, and return it."""
        line, item = self._free.pop(0)
        line.data_source.name, line.name = f"{self._name}:{label}", label
        item.label, item.visible = {"value": label}, True
        return line, item


class Curves:
    """Holds all curves of a page."""

    def __init__(self) -> None:
        self.bars = BookBars()
        self.rates = Lines("rate", 190, "seconds", "images / s")
        self.rates.plot.y_range.start = 0
        self.hits = Lines("hits", 190, "images arrived", "accepted, %", y_range=Range1d(0, 100))
        self.latency = Lines("latency", 190, "µs", "% of stacks", x_axis_type="log")
        self.latency.plot.xaxis.ticker = FixedTicker(ticks=[10.0**power for power in range(9)])
        self.latency.plot.xaxis.formatter = CustomJSTickFormatter(
            code="return tick < 1e3 ? tick + ' µs' : tick < 1e6 ? tick / 1e3 + ' ms' : tick / 1e6 + ' s'"
        )
        self.latency.plot.xaxis.axis_label = "time since the stage before"
        self._changes = -1

    def update(self, tab: object, scene: Scene, course: Course) -> None:
        """Update only the plots of the open tab, since Bokeh would also send plots that the browser does not show."""
        if tab == "books":
            self.bars.update(scene)
        elif tab == "curves":
            self._update_course(course)
        elif tab == "latencies":
            self._update_latencies(scene)

    def _update_course(self, course: Course) -> None:
        if course.changes == self._changes:
            return
        self._changes = course.changes
        several = len({node for node, _ in course.curves}) > 1
        named = {f"{node}: {buffer}" if several else buffer: curve for (node, buffer), curve in course.curves.items()}
        self.rates.update({name: (list(curve.time_s), list(curve.rate)) for name, curve in named.items()})
        self.hits.update({name: curve.hits() for name, curve in named.items()})

    def _update_latencies(self, scene: Scene) -> None:
        bins = [bound * 1e6 / 2**0.5 for bound in BOUNDS_S]
        self.latency.update(
            {
                f"{buffer.status.name}: {latency.stage}": (bins, latency_bins(latency))
                for buffer in scene.buffers
                for latency in buffer.status.latencies
                if latency.count and latency.below
            }
        )
