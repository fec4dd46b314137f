# SPDX-License-Identifier: Apache-2.0
"""report.html: one file that shows a run, with pictures and plots that need no network."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rashpa.cli.report.page_parts import Heading, Note, Part, Plot, page_of, pairs_of
from rashpa.cli.report.report_pictures import Curve, column_of, shown_of
from rashpa.cli.report.report_plots import Frames, curve_plot, frames_of, hit_plot, latency_plot, share_plot
from rashpa.cli.report.report_script import drawn, library
from rashpa.cli.report.report_svg import drawing_of
from rashpa.cli.report.report_tables import (
    books_table,
    cards_part,
    compression_table,
    consumers_part,
    dtps_part,
    emulators_part,
    events_part,
    latency_table,
    limits_part,
    receivers_part,
    run_table,
    sinks_table,
    vetoes_part,
)
from rashpa.control.books.accounting import DECISION_NAMES, STATE_NAMES
from rashpa.control.books.outcome import Outcome
from rashpa.control.books.run_summary import facts_of_report, open_lines, summary_lines
from rashpa.control.plan.model import PlannedBuffer
from rashpa.control.runfile.kernels import declaration, parameters_of


def load() -> None:
    """Load the modules and texts of every page and draw one plot in advance, so that no page waits for this."""
    library()
    plot = curve_plot("", np.arange(2.0), np.arange(2.0), "")
    drawn([plot])
    drawing_of(plot)


def html_of(report: dict[str, Any], outcome: Outcome) -> str:
    """Return the whole page."""
    plots: list[tuple[str, Any]] = []
    frames = frames_of(outcome)
    images = [part for buffer in outcome.plan.buffers for part in _buffer_part(buffer, report, outcome, frames, plots)]
    script, places = drawn([plot for _, plot in plots])
    numbered = iter(zip(plots, places, strict=True))
    parts = [part if part is not None else _plot_part(*next(numbered)) for part in images]
    facts = facts_of_report(report)
    return page_of(
        [*_tables_before(report), *parts, *_tables_behind(report)],
        script,
        name=report["run"]["name"],
        summary=[*summary_lines(facts), *open_lines(facts.files)],
        cautions=report["run"]["cautions"],
    )


def _plot_part(titled: tuple[str, Any], place: str) -> Plot:
    title, plot = titled
    return Plot(title, drawing_of(plot), place)


def _tables_before(report: dict[str, Any]) -> list[Part]:
    return [
        *_judged(report),
        run_table(report),
        Heading("The books"),
        books_table(report),
        *vetoes_part(report),
        *limits_part(report),
        Heading("Images"),
    ]


def _tables_behind(report: dict[str, Any]) -> list[Part]:
    link = {
        **report["link"],
        "ICRC": report["icrc"]["check"],
        "proof": f"{report['proof']['of']} ({report['proof']['verify']})",
        "memory": report["memory"],
    }
    return [
        Heading("Files and sinks"),
        Note("Of each sink: images that it was to keep, and what became of them."),
        sinks_table(report),
        *consumers_part(report),
        compression_table(report),
        Heading("Latency"),
        Note("Of each stage, in microseconds: last packet of a stack → ready → decision → written."),
        latency_table(report),
        Heading("Rates"),
        pairs_of((name, value) for name, value in report["rates"].items() if value is not None),
        *events_part(report),
        *cards_part(report),
        Heading("Injected faults"),
        pairs_of(report["injected"].items()),
        Heading("DTPs"),
        *dtps_part(report),
        *emulators_part(report),
        *receivers_part(report),
        Heading("Link"),
        pairs_of(link.items()),
        Heading("Software and machine"),
        pairs_of({**report["software"], **report["machine"]}.items()),
    ]


def _judged(report: dict[str, Any]) -> Iterator[Note]:
    """Yield the number of files that `rashpa check` has checked, and its findings on files with faults or oddities."""
    judged = report["files"]
    if not judged:
        return
    wrong = sum(bool(one["wrong"]) for one in judged)
    words = f"rashpa check: {len(judged)} file{'s' if len(judged) > 1 else ''}, {wrong or 'none'} of them wrong."
    yield Note(words, "bad" if wrong else "good")
    for one in judged:
        for level in ("wrong", "odd"):
            yield from (Note(f"{Path(one['file']).name}: {level}: {text}") for text in one[level])


def _buffer_part(
    buffer: PlannedBuffer, report: dict[str, Any], outcome: Outcome, frames: Frames, plots: list[tuple[str, Any]]
) -> list[Part | None]:
    """Return pictures and curves of one buffer, as far as they are known. Append its plots to `plots` and put None at their places in the result."""
    name = buffer.section.name
    receiver = outcome.plan.shown_receivers[name]
    entry = next((known for known in report["buffers"] if known["name"] == name), None)
    if entry is None:
        return []
    node = next(known.node for known in outcome.plan.receivers if known.name == buffer.receiver)
    file = entry["file"] if node == "local" else ""
    called = f"{name} at {receiver}" if receiver else name
    parts: list[Part | None] = [Heading(called, 3)]

    def add(title: str, plot: Any) -> None:
        if plot is not None:
            parts.append(None)
            plots.append((f"{called}: {title}", plot))

    shown = shown_of(buffer, outcome, file)
    parts += shown.figures
    for curve in shown.curves:
        add(f"{curve.name}: {curve.text}", _curve(curve))
    for title, tables, states in (
        ("completeness", outcome.completeness, STATE_NAMES),
        ("decision", outcome.decisions, DECISION_NAMES),
    ):
        if tables.get(name):
            add(title, share_plot(buffer, np.frombuffer(tables[name], np.uint8), states, frames))
    for title, plot in _hit_plots(buffer, file, frames, entry.get("limits", ())):
        add(title, plot)
    status = next(known for known in outcome.buffers if known.name == name)
    add("latency: how many took how long", latency_plot(status.latencies))
    return parts


def _curve(curve: Curve) -> Any:
    return curve_plot(curve.axis, curve.x, curve.y, curve.name)


def _hit_plots(
    buffer: PlannedBuffer, file: str, frames: Frames, changes: Sequence[dict[str, Any]]
) -> list[tuple[str, Any]]:
    """Return a plot for each kernel that decides on images, from the file's tables. `changes`: of limits, as in report.json."""
    plots = []
    for number, kernel in enumerate(buffer.section.kernel if file else ()):
        ports = {port.port: port for port in declaration(kernel.name).makes}
        if not {"scalars", "verdict"} <= ports.keys() or not ports["verdict"].limits:
            continue
        column = ports["scalars"].columns[0].name
        values = column_of(Path(file), column)
        if values is not None and values.size:
            known = {name: parameters_of(kernel)[name] for name in ports["verdict"].limits}
            limits = {
                name: [
                    (0, value),
                    *(
                        (one["first_image"], json.loads(one["new"]))
                        for one in changes
                        if (one["number"], one["key"]) == (number, name)
                    ),
                ]
                for name, value in known.items()
                if value is not None
            }
            plots.append((f"hit curve: {column.replace('_', ' ')}", hit_plot(buffer, column, values, limits, frames)))
    return plots
