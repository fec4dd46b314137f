# SPDX-License-Identifier: Apache-2.0
"""report.html: one file that shows a run, with pictures and plots that need no network."""

import html
from pathlib import Path
from typing import Any

import numpy as np

from rashpa.cli.report.report_pictures import Curve, column_of, shown_of
from rashpa.cli.report.report_plots import curve_plot, hit_plot, latency_plot, share_plot
from rashpa.cli.report.report_script import drawn, library
from rashpa.cli.report.report_tables import (
    books_table,
    cards_part,
    compression_table,
    consumers_part,
    dtps_table,
    emulators_part,
    events_part,
    latency_table,
    pairs_table,
    receivers_part,
    run_table,
    sinks_table,
    vetoes_part,
)
from rashpa.control.books.accounting import DECISION_NAMES, STATE_NAMES
from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import PlannedBuffer
from rashpa.control.runfile.kernels import declaration, parameters_of

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #212529; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: 0 0 1.5rem; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #dee2e6; }
td { text-align: right; font-variant-numeric: tabular-nums; } th { text-align: right; }
td:first-child, th:first-child, td.text, th.text { text-align: left; } th, td { white-space: nowrap; }
td.text { white-space: normal; }
.good { color: #1b6e2d; } .bad { color: #a61b1b; } .quiet { color: #52606d; } h2 { margin-top: 2.5rem; } h3 { margin-bottom: .5rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; } figure img { max-width: 100%; height: auto; } figcaption { font-size: 13px; color: #3e4c59; }
"""


def load() -> None:
    """Read the parts of every page, and draw a plot once, so that no page waits for that."""
    library()
    drawn([curve_plot("", np.arange(2.0), np.arange(2.0), "")])


def html_of(report: dict[str, Any], outcome: Outcome) -> str:
    """Return the whole page."""
    parts: list[str] = []
    plots: list[Any] = []
    for buffer in outcome.plan.buffers:
        parts += _buffer_part(buffer, report, outcome, plots)
    script, places = drawn(plots)
    shown = "".join(parts)
    for number, place in enumerate(places):
        shown = shown.replace(_place(number), place, 1)
    name = html.escape(report["run"]["name"])
    return "\n".join(
        [
            f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{name}: rashpa</title>",
            f"<meta name='viewport' content='width=device-width'><style>{_STYLE}</style></head><body>",
            f"<h1>Run {name}</h1>{_verdict(report)}",
            run_table(report),
            "<h2>The books</h2>",
            books_table(report),
            *vetoes_part(report),
            "<h2>Images</h2>",
            shown,
            "<h2>Files and sinks</h2><p>Of each sink: images that it was to keep, and what became of them.</p>",
            sinks_table(report),
            *consumers_part(report),
            compression_table(report),
            "<h2>Latency</h2><p>Of each stage, in microseconds: last packet of a stack → ready → decision → written.</p>",
            latency_table(report),
            "<h2>Rates</h2>",
            pairs_table({name: value for name, value in report["rates"].items() if value is not None}),
            *events_part(report),
            *cards_part(report),
            "<h2>Injected faults</h2>",
            pairs_table(report["injected"]),
            "<h2>DTPs</h2>",
            dtps_table(report),
            *emulators_part(report),
            *receivers_part(report),
            "<h2>Link</h2>",
            pairs_table(
                {
                    **report["link"],
                    "ICRC": report["icrc"]["check"],
                    "proof": f"{report['proof']['of']} ({report['proof']['verify']})",
                    "memory": report["memory"],
                }
            ),
            "<h2>Software and machine</h2>",
            pairs_table({**report["software"], **report["machine"]}),
            f"{script}</body></html>\n",
        ]
    )


def _verdict(report: dict[str, Any]) -> str:
    run = report["run"]
    forced = "".join(f"<p>Caution: {html.escape(line)}</p>" for line in run["cautions"])
    return f"{_judgement(report)}{_files(report)}{forced}"


def _files(report: dict[str, Any]) -> str:
    """Return the findings of `rashpa check` on files in which something is wrong or odd, and the number of files it has checked."""
    judged = report["files"]
    if not judged:
        return ""
    wrong = sum(bool(one["wrong"]) for one in judged)
    lines = [
        f"<li>{html.escape(Path(one['file']).name)}: {level}: {html.escape(text)}</li>"
        for one in judged
        for level in ("wrong", "odd")
        for text in one[level]
    ]
    words = f"rashpa check: {len(judged)} file{'s' if len(judged) > 1 else ''}, {wrong or 'none'} of them wrong."
    return f"<p class='{'bad' if wrong else 'good'}'>{words}</p>" + (f"<ul>{''.join(lines)}</ul>" if lines else "")


def _judgement(report: dict[str, Any]) -> str:
    run = report["run"]
    if run["good"]:
        return "<p class='good'>The books balance; every image is as the emulator's log says.</p>"
    reasons = [html.escape(line) for line in (*run["problem"].splitlines(), *run["reasons"])]
    if not report["books"]["balanced"] and not run["reasons"]:
        reasons.append("the books do not balance")
    return f"<p class='bad'>{'<br>'.join(reasons) or 'interrupted'}</p>"


def _buffer_part(buffer: PlannedBuffer, report: dict[str, Any], outcome: Outcome, plots: list[Any]) -> list[str]:
    """Return pictures and curves of one buffer, as far as they are known. Append its plots to `plots`."""
    name = buffer.section.name
    receiver = outcome.plan.shown_receivers[name]
    entry = next((known for known in report["buffers"] if known["name"] == name), None)
    if entry is None:
        return []
    node = next(known.node for known in outcome.plan.receivers if known.name == buffer.receiver)
    file = entry["file"] if node == "local" else ""
    called = f"{name} at {receiver}" if receiver else name
    parts = [f"<h3>{html.escape(called)}</h3>"]

    def add(title: str, plot: Any) -> None:
        if plot is not None:
            parts.append(f"<p class='quiet'>{html.escape(f'{called}: {title}')}</p>{_place(len(plots))}")
            plots.append(plot)

    shown = shown_of(buffer, outcome, file)
    if shown.figures:
        parts.append(f"<div class='pictures'>{''.join(shown.figures)}</div>")
    for curve in shown.curves:
        add(f"{curve.name}: {curve.text}", _curve(curve))
    for title, tables, states in (
        ("completeness", outcome.completeness, STATE_NAMES),
        ("decision", outcome.decisions, DECISION_NAMES),
    ):
        if tables.get(name):
            add(title, share_plot(buffer, np.frombuffer(tables[name], np.uint8), states))
    for title, plot in _hit_plots(buffer, file):
        add(title, plot)
    status = next(known for known in outcome.buffers if known.name == name)
    add("latency: how many took how long", latency_plot(status.latencies))
    return parts


def _curve(curve: Curve) -> Any:
    return curve_plot(curve.axis, curve.x, curve.y, curve.name)


def _hit_plots(buffer: PlannedBuffer, file: str) -> list[tuple[str, Any]]:
    """Return plots of each kernel with a verdict, from the file's tables."""
    plots = []
    for kernel in buffer.section.kernel if file else ():
        ports = {port.port: port for port in declaration(kernel.name).makes}
        if not {"scalars", "verdict"} <= ports.keys() or not ports["verdict"].limits:
            continue
        column = ports["scalars"].columns[0].name
        values = column_of(Path(file), column)
        if values is not None and values.size:
            known = {name: parameters_of(kernel)[name] for name in ports["verdict"].limits}
            limits = {name: value for name, value in known.items() if value is not None}
            plots.append((f"hit curve: {column.replace('_', ' ')}", hit_plot(buffer, column, values, limits)))
    return plots


def _place(number: int) -> str:
    return f"<!-- plot {number} -->"
