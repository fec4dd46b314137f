# SPDX-License-Identifier: Apache-2.0
"""report.html: one file that shows a run, with plots that need no network."""

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from bokeh.embed import components
from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure
from bokeh.resources import INLINE
from numpy.typing import NDArray

from rashpa.control.accounting import DECISION_NAMES, STATE_NAMES
from rashpa.control.kernels import declaration, parameters_of
from rashpa.control.outcome import Outcome
from rashpa.control.run_plan import PlannedBuffer

_BINS = 400
_COLOURS = {
    "open": "#999999",
    "complete": "#2b8a3e",
    "partial": "#f59f00",
    "missing": "#c92a2a",
    "none": "#999999",
    "accepted": "#1864ab",
    "vetoed": "#ced4da",
    "errored": "#c92a2a",
}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #212529; }
table { border-collapse: collapse; margin: 0 0 1.5rem; } th, td { padding: .25rem .8rem; border-bottom: 1px solid #dee2e6; }
td { text-align: right; font-variant-numeric: tabular-nums; } th { text-align: right; } td:first-child, th:first-child { text-align: left; }
.good { color: #2b8a3e; } .bad { color: #c92a2a; } h2 { margin-top: 2.5rem; }
"""


def html_of(report: dict[str, Any], outcome: Outcome) -> str:
    """The whole page."""
    plots = [plot for buffer in outcome.plan.buffers for plot in _plots_of(buffer, report, outcome)]
    script, divs = components([plot for _, plot in plots]) if plots else ("", ())
    name = html.escape(report["run"]["name"])
    verdict = _verdict(report)
    parts = [
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{name}: rashpa</title><style>{_STYLE}</style>",
        INLINE.render() if plots else "",
        f"</head><body><h1>Run {name}</h1>{verdict}",
        "<h2>The books</h2>",
        _books_table(report),
        "<h2>Sinks</h2><p>Of each sink: images that it was to keep, and what became of them.</p>",
        _sinks_table(report),
        "<h2>Latency</h2><p>Of each stage, in microseconds: last packet of a stack → ready → decision → written.</p>",
        _latency_table(report),
        "<h2>Rates</h2>",
        _pairs_table({name: value for name, value in report["rates"].items() if value is not None}),
        *_cards_part(report),
        "<h2>Images</h2>",
        *(f"<h3>{html.escape(title)}</h3>{div}" for (title, _), div in zip(plots, divs, strict=True)),
        "<h2>Injected faults</h2>",
        _pairs_table(report["injected"]),
        *_emulators_part(report),
        *_receivers_part(report),
        "<h2>Link</h2>",
        _pairs_table({**report["link"], "proof": f"{report['proof']['of']} ({report['proof']['verify']})"}),
        "<h2>Machine</h2>",
        _pairs_table(report["machine"]),
        f"{script}</body></html>\n",
    ]
    return "\n".join(parts)


def _verdict(report: dict[str, Any]) -> str:
    run = report["run"]
    forced = "".join(f"<p>Caution: {html.escape(line)}</p>" for line in run["cautions"])
    return f"{_judgement(report)}{forced}"


def _judgement(report: dict[str, Any]) -> str:
    run = report["run"]
    if run["good"]:
        return "<p class='good'>The books balance; every image is as the emulator's log says.</p>"
    reasons = [html.escape(line) for line in (*run["problem"].splitlines(), *run["reasons"])]
    if not report["books"]["balanced"] and not run["reasons"]:
        reasons.append("the books do not balance")
    return f"<p class='bad'>{'<br>'.join(reasons) or 'interrupted'}</p>"


# ---- tables ---------------------------------------------------------------------------------------------------------------------


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    cells = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(_text(value))}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><tr>{cells}</tr>{body}</table>"


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "NO", None: "not known"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _pairs_table(values: dict[str, Any]) -> str:
    return _table(("", ""), values.items())


def _books_table(report: dict[str, Any]) -> str:
    names = list(report["books"])
    if len(report["receivers"]) == 1:
        rows = [(buffer["name"], *(buffer["books"][name] for name in names)) for buffer in report["buffers"]]
        return _table(("buffer", *names), [*rows, ("all", *report["books"].values())])
    # of each receiver its buffers, then all of them
    rows = []
    for receiver in report["receivers"]:
        own = [buffer for buffer in report["buffers"] if buffer["receiver"] == receiver["name"]]
        rows += [(buffer["name"], receiver["name"], *(buffer["books"][name] for name in names)) for buffer in own]
        rows.append(("all", receiver["name"], *(receiver["books"][name] for name in names)))
    rows.append(("all", "all", *report["books"].values()))
    return _table(("buffer", "receiver", *names), rows)


def _sinks_table(report: dict[str, Any]) -> str:
    names = ("accepted", "written", "dropped", "errored", "waiting", "bytes_written", "bytes_stored")
    rows = [
        (buffer["name"], sink["name"], sink["keeps"], sink["on_full"], *(sink[name] for name in names), sink["error"])
        for buffer in report["buffers"]
        for sink in buffer.get("sinks", ())  # reports of before have none
    ]
    return _table(("buffer", "sink", "keeps", "on full", *(name.replace("_", " ") for name in names), "error"), rows)


def _emulators_part(report: dict[str, Any]) -> Iterable[str]:
    """Where the emulators are and what each has sent; nothing for one, of which the rest of the page speaks."""
    if len(report["emulators"]) == 1:
        return
    yield "<h2>Emulators</h2>"
    rows = [
        (
            each["name"],
            each["node"] if each["heard"] else f"{each['node']}, never heard",
            each["modules"],
            each["images_sent"],
            each["images_skipped"],
            sum(each["injected"].values()),
            each["elapsed_s"],
        )
        for each in report["emulators"]
    ]
    yield _table(("emulator", "node", "modules", "images sent", "skipped", "faults injected", "elapsed s"), rows)


def _cards_part(report: dict[str, Any]) -> Iterable[str]:
    """Where the cycles of cards went; nothing without one."""
    cards = {each["name"]: each["card"] for each in report["emulators"] if each.get("card")}
    if not cards:
        return
    yield "<h2>Cards</h2><p>Counted by each card in cycles of its clock.</p>"
    if any(card["simulated"] for card in cards.values()):
        yield "<p>A simulated card has no clock: how long its cycles took says nothing of a real one.</p>"
    names = list(next(iter(cards.values())))
    rows = [(name.replace("_", " "), *(card[name] for card in cards.values())) for name in names]
    yield _table(("", *cards), rows)


def _receivers_part(report: dict[str, Any]) -> Iterable[str]:
    """Where the receivers are and what the link of each counted; nothing for one receiver, of which the rest of the page speaks."""
    if len(report["receivers"]) == 1:
        return
    yield "<h2>Receivers</h2>"
    rows = [
        (each["name"], each["node"], each["memory"] if each["heard"] else "never heard", each["elapsed_s"])
        for each in report["receivers"]
    ]
    yield _table(("receiver", "node", "memory", "elapsed s"), rows)
    yield from (
        f"<h3>{html.escape(each['name'])}: link</h3>{_pairs_table(each['link'])}"
        for each in report["receivers"]
        if each["link"]
    )


def _latency_table(report: dict[str, Any]) -> str:
    rows = [
        (buffer["name"], stage, figures["count"], figures["p50"], figures["p99"], figures["max"])
        for buffer in report["buffers"]
        for stage, figures in buffer["latency_us"].items()
    ]
    return _table(("buffer", "until", "stacks", "p50", "p99", "max"), rows)


# ---- plots ----------------------------------------------------------------------------------------------------------------------


def _plots_of(buffer: PlannedBuffer, report: dict[str, Any], outcome: Outcome) -> list[tuple[str, Any]]:
    """Completeness, decision and hit curve of one buffer, as far as they are known."""
    name = buffer.section.name
    receiver = outcome.plan.shown_receivers[name]
    shown = f"{name} at {receiver}" if receiver else name
    plots: list[tuple[str, Any]] = []
    for title, tables, states in (
        ("completeness", outcome.completeness, STATE_NAMES),
        ("decision", outcome.decisions, DECISION_NAMES),
    ):
        if tables.get(name):
            table = np.frombuffer(tables[name], np.uint8)
            plots.append((f"{shown}: {title}", _share_plot(buffer, table, states)))
    file = next((entry["file"] for entry in report["buffers"] if entry["name"] == name), "")
    node = next(known.node for known in outcome.plan.receivers if known.name == buffer.receiver)
    for kernel in buffer.section.kernel if file and node == "local" else ():
        ports = {port.port: port for port in declaration(kernel.name).makes}
        if not {"scalars", "verdict"} <= ports.keys() or not ports["verdict"].limits:
            continue
        column = ports["scalars"].columns[0].name
        values = column_of(Path(file), column)
        if values is not None and values.size:
            limits = {name: parameters_of(kernel)[name] for name in ports["verdict"].limits}
            plots.append((f"{shown}: hit curve", _hit_plot(buffer, column, values, limits)))
    return plots


def shares(table: NDArray[np.uint8], states: int, bins: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bin edges in images, and of each bin the percentage of images in each state [state][bin]."""
    edges = np.unique(np.linspace(0, table.size, min(bins, table.size) + 1).astype(np.int64))
    counts = np.stack([np.add.reduceat(table == state, edges[:-1], dtype=np.int64) for state in range(states)]).astype(
        np.float64
    )
    return edges.astype(np.float64), 100.0 * counts / np.diff(edges)


def _share_plot(buffer: PlannedBuffer, table: NDArray[np.uint8], states: Sequence[str]) -> Any:
    edges, percent = shares(table, len(states), _BINS)
    frames = buffer.section.phase + edges * buffer.section.every
    plot = figure(
        height=180,
        sizing_mode="stretch_width",
        x_axis_label="frame number",
        y_axis_label="% of images",
        tools="xpan,xwheel_zoom,reset,save",
    )
    plot.y_range = Range1d(start=0, end=100)
    bottom = np.zeros(percent.shape[1])
    for state, values in zip(states, percent, strict=True):
        if values.any():
            data = {"left": frames[:-1], "right": frames[1:], "bottom": bottom, "top": bottom + values}
            plot.quad(source=ColumnDataSource(data), color=_COLOURS[state], line_width=0, legend_label=state)
            bottom = bottom + values
    plot.add_layout(plot.legend[0], "right")
    return plot


def _hit_plot(buffer: PlannedBuffer, column: str, values: NDArray[Any], limits: dict[str, Any]) -> Any:
    """What a verdict compares with `limits`; of each bin the largest value, so that no hit vanishes."""
    edges = np.unique(np.linspace(0, values.size, min(4 * _BINS, values.size) + 1).astype(np.int64))
    frames = (buffer.section.phase + edges[:-1] * buffer.section.every).astype(np.float64)
    plot = figure(
        height=220,
        sizing_mode="stretch_width",
        x_axis_label="frame number",
        y_axis_label=column.replace("_", " "),
        tools="pan,wheel_zoom,reset,save",
    )
    plot.vbar(
        x=frames,
        top=np.maximum.reduceat(values, edges[:-1]),
        width=np.diff(edges) * buffer.section.every,
        color=_COLOURS["accepted"],
    )
    for name, value in limits.items():
        plot.hspan(y=[value], line_color=_COLOURS["missing"], line_dash="dashed", legend_label=name)
    return plot


def column_of(master: Path, name: str) -> NDArray[Any] | None:
    """The file's table of one of the pipeline's numbers, a row an image; None when there is no such file or table."""
    try:
        with h5py.File(master, "r") as file:
            table = file.get(f"/entry/rashpa/{name}")
            if table is None:
                return None
            values = np.asarray(table[()])
            if "not_counted" in table.attrs:
                values = np.where(values == table.attrs["not_counted"], values.dtype.type(0), values)
            return values
    except (LookupError, OSError, RuntimeError, TypeError, ValueError):  # as h5py says that a file contradicts itself
        return None
