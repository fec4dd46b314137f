# SPDX-License-Identifier: Apache-2.0
"""report.html: one file that shows a run, with pictures and plots that need no network."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rashpa.cli.report.page_parts import Heading, Note, Part, Plot, page_of, pairs_of
from rashpa.cli.report.report_pictures import Curve, Shown, column_of
from rashpa.cli.report.report_plots import Frames, curve_plot, frames_of, hit_plot, latency_plot, share_plot
from rashpa.cli.report.report_script import drawn
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
from rashpa.data.figures.picture import Picture


def load() -> None:
    """Load the modules and texts of every page, and draw a page with one plot and one picture in advance, so that no page waits for this."""
    plot = curve_plot("", np.arange(2.0), np.arange(2.0), "")
    script, (place,) = drawn([plot])
    Picture(np.arange(4.0).reshape(2, 2), 1, "", np.zeros((0, 4))).png()
    page_of([Plot("", drawing_of(plot), place)], script, name="", summary=[], cautions=[])


def html_of(report: dict[str, Any], outcome: Outcome, pictures: Callable[[], Mapping[str, Shown]]) -> str:
    """Return the whole page. `pictures`: returns pictures and curves by buffer; it is called when all else is done, because it may wait for them."""
    frames = frames_of(outcome)
    entries = {entry["name"]: entry for entry in report["buffers"]}
    told = [buffer for buffer in outcome.plan.buffers if buffer.section.name in entries]
    of_tables = [_plots_of_tables(buffer, entries[buffer.section.name], outcome, frames) for buffer in told]
    before, behind = _tables_before(report), _tables_behind(report)
    facts = facts_of_report(report)
    shown = pictures()
    plots: list[tuple[str, Any]] = []
    images: list[Part | None] = []
    for buffer, tables in zip(told, of_tables, strict=True):
        one = shown.get(buffer.section.name, Shown())
        own = [*((f"{curve.name}: {curve.text}", _curve(curve)) for curve in one.curves), *tables]
        called = _name_of(buffer, outcome)
        images += [Heading(called, 3), *one.figures, *(None for _ in own)]
        plots += [(f"{called}: {title}", plot) for title, plot in own]
    script, places = drawn([plot for _, plot in plots])
    numbered = iter(zip(plots, places, strict=True))
    parts = [part if part is not None else _plot_part(*next(numbered)) for part in images]
    return page_of(
        [*before, *parts, *behind],
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


def _name_of(buffer: PlannedBuffer, outcome: Outcome) -> str:
    receiver = outcome.plan.shown_receivers[buffer.section.name]
    return f"{buffer.section.name} at {receiver}" if receiver else buffer.section.name


def _plots_of_tables(
    buffer: PlannedBuffer, entry: dict[str, Any], outcome: Outcome, frames: Frames
) -> list[tuple[str, Any]]:
    """Return the plots of the tables of one buffer, with their titles. `entry`: the buffer in report.json."""
    name = buffer.section.name
    node = next(known.node for known in outcome.plan.receivers if known.name == buffer.receiver)
    plots = [
        (title, share_plot(buffer, np.frombuffer(tables[name], np.uint8), states, frames))
        for title, tables, states in (
            ("completeness", outcome.completeness, STATE_NAMES),
            ("decision", outcome.decisions, DECISION_NAMES),
        )
        if tables.get(name)
    ]
    plots += _hit_plots(buffer, entry["file"] if node == "local" else "", frames, entry.get("limits", ()))
    status = next(known for known in outcome.buffers if known.name == name)
    latency = latency_plot(status.latencies)
    return plots if latency is None else [*plots, ("latency: how many took how long", latency)]


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
