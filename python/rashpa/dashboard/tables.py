# SPDX-License-Identifier: Apache-2.0
"""Numbers of the page, as HTML; all text of nodes is escaped."""

import html
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rashpa.control.nodes.node_progress import Sending
from rashpa.control.telegrams.telegram import Books, Latency, count_of
from rashpa.dashboard.alarms import Alarm
from rashpa.dashboard.course import Course
from rashpa.dashboard.past_runs import PastRun
from rashpa.dashboard.scene import NodeScene, Scene
from rashpa.dashboard.state_line import state_parts

BOOKS = ("expected", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written")
_BAD = ("lost", "fault")
_LOW, _LATE_S, _NEAR = 0.1, 0.1, 0.9
_SIGNS = {"lost": "✖", "fault": "✖", "running": "▶", "paused": "‖", "finished": "■", "idle": "○", "gone": "■"}


def head(scene: Scene, course: Course) -> str:
    """Return the line of state as HTML."""
    parts = [
        f"<span class='{part.mark}' data-part='{part.name}'"
        + (f" data-state='{scene.state}'" if part.name == "state" else "")
        + f">{html.escape(part.text)}</span>"
        for part in state_parts(scene, course)
    ]
    if scene.done is not None and scene.going:
        parts.insert(
            1,
            f"<progress max='1' value='{scene.done:.4f}' aria-label='part of the images' title='{scene.done:.1%}'></progress>",
        )
    return " ".join(parts)


def alerts(scene: Scene, alarms: Sequence[Alarm] = ()) -> str:
    """Return the alarms, and everything a person must know about the end of a run and about one without its manager."""
    text = "".join(_alarm(alarm) for alarm in alarms)
    if scene.going and not scene.managed:
        text += "<p class='bad'>✖ Its manager is gone; take it over with <code>rashpa attach</code>.</p>"
    if scene.ending is not None:
        sign, mark = ("✔", "") if scene.ending.good else ("✖", "bad")
        lines = "<br>".join(html.escape(line) for line in scene.ending.lines)
        said = f"{sign} As its report says: {scene.ending.text}. {lines}"
        text += f"<p class='{mark}' data-good='{scene.ending.good}'>{said}</p>"
    elif scene.state == "ended":
        text += "<p class='quiet'>Below is what its nodes said last; it was run without a report (--output).</p>"
    return text


def _alarm(alarm: Alarm) -> str:
    state = "is over" if alarm.over else "goes on"
    said = f"⚠ {alarm.text}; since {alarm.since}, {state}"
    if alarm.by:
        return f"<p class='warn' data-alarm='{html.escape(alarm.key)}'>{html.escape(said)}; acknowledged by {html.escape(alarm.by)}</p>"
    return (
        f"<p class='bad' data-alarm='{html.escape(alarm.key)}'>{html.escape(said)} "
        f"<button type='button' data-acknowledge='{html.escape(alarm.key)}'>acknowledge</button></p>"
    )


def books_table(scene: Scene) -> str:
    """Return the books of each buffer and their sum. After a run with a report they are the report's, which leaves out lost members."""
    rows = []
    for buffer in scene.buffers:
        books = buffer.status.books
        if scene.ending is not None and scene.ending.books:
            if buffer.status.name not in scene.ending.books:
                continue
            books = scene.ending.books[buffer.status.name]
        rows.append((_name(scene, buffer.node, buffer.status.name), books))
    if not rows and scene.ending is not None:
        rows = list(scene.ending.books.items())
    if max(len(rows), len(scene.buffers)) > 1:
        total = sum((books for _, books in rows), Books())
        rows.append(("total", total))
    if not rows:
        return "<p class='quiet'>No buffer yet.</p>"
    cells = (
        f"<tr><th scope='row'>{html.escape(name)}</th>"
        + "".join(_count(state, getattr(books, state)) for state in BOOKS)
        + "</tr>"
        for name, books in rows
    )
    head = "".join(f"<th scope='col'>{state}</th>" for state in ("buffer", *BOOKS))
    return f"<table class='books'><thead><tr>{head}</tr></thead><tbody>{''.join(cells)}</tbody></table>"


def _count(state: str, value: int) -> str:
    mark = {"errored": "bad", "missing": "warn", "partial": "warn"}.get(state, "") if value else ""
    return f"<td class='{mark}' data-state='{state}'>{value:,}</td>"


def _name(scene: Scene, node: str, buffer: str) -> str:
    several = len({one.node for one in scene.buffers}) > 1
    return f"{node}: {buffer}" if several else buffer


def nodes_table(scene: Scene) -> str:
    """Return state and load of each node."""
    rows = [_node_row(node) for node in scene.nodes]
    if not rows:
        return "<p class='quiet'>No node to look at: those that a run starts itself are there while it lasts.</p>"
    text = _table(("node", "state", "CPUs", "memory", "images", "margin"), rows, "nodes")
    problems = "".join(
        f"<p class='bad'>✖ {html.escape(node.problem or node.status.message if node.status else node.problem)}</p>"
        for node in scene.nodes
        if node.problem or (node.status is not None and node.status.state == "fault")
    )
    return text + problems


def _node_row(node: NodeScene) -> Sequence[tuple[str, str]]:
    state = node.state
    mark = "bad" if state in _BAD else ""
    memory = f"{node.load.resident_bytes / 2**20:,.0f} MiB" if node.load is not None else ""
    processors = f"{node.processors:.2f}" if node.processors is not None and not node.problem else ""
    rates, margins, low = [], [], False
    for part in node.parts:
        if isinstance(part, Sending):
            rates.append(f"{part.images_per_s:,.0f}/s, {part.bytes_per_s * 8e-9:.2f} Gb/s")
            if part.asked_hz:
                margins.append(f"{part.late_s:.3f} s late")
                low |= part.late_s > _LATE_S
        else:
            rates.append(f"{part.name}: {part.images_per_s:,.0f}/s")
            if part.free_slots is not None:
                margins.append(f"{part.name}: {part.free_slots:.0%} free")
                low |= part.free_slots < _LOW
    return (
        (node.name, ""),
        (f"{_SIGNS.get(state, '')} {state}", mark),
        (processors, "number"),
        (memory, "number"),
        ("\n".join(rates), ""),
        ("\n".join(margins), "warn" if low else ""),
    )


def vetoes_table(scene: Scene) -> str:
    """Return the counts of images by reason of veto and of error; after a run with a report they are the report's."""
    rows = []
    known = [
        (buffer.status.name, _name(scene, buffer.node, buffer.status.name), buffer.status.books, buffer.status.counts)
        for buffer in scene.buffers
    ]
    if not known and scene.ending is not None:
        known = [(buffer, buffer, books, ()) for buffer, books in scene.ending.books.items()]
    for buffer, name, books, counts in known:
        if scene.ending is not None:
            books = scene.ending.books.get(buffer, books)
            counts = scene.ending.counts.get(buffer, counts)
        for group, word in (("veto", "vetoed"), ("error", "errored")):
            for reason, count in count_of(counts, group).items():
                if count:
                    share = count / max(1, books.decided)
                    rows.append(
                        (
                            (name, ""),
                            (f"{word}: {reason.replace('_', ' ')}", ""),
                            (f"{count:,}", "number"),
                            (f"{share:.1%}", "number"),
                        )
                    )
    return (
        _table(("buffer", "reason", "images", "of decided"), rows, "vetoes") if rows else "<p class='quiet'>None.</p>"
    )


def latency_table(scene: Scene) -> str:
    """Return the latencies of each stage since the run began."""
    rows = []
    for buffer in scene.buffers:
        for latency in buffer.status.latencies:
            if latency.count:
                figures = ((_time(value), "number") for value in (latency.p50, latency.p99, latency.max))
                rows.append(((_name(scene, buffer.node, buffer.status.name), ""), (latency.stage, ""), *figures))
    return _table(("buffer", "until", "half below", "99 % below", "longest"), rows, "latency") if rows else ""


def _time(us: float) -> str:
    return f"{us:,.0f} µs" if us < 1e3 else f"{us / 1e3:,.1f} ms" if us < 1e6 else f"{us / 1e6:,.2f} s"


def latency_bins(latency: Latency) -> list[float]:
    """Return the percentage of images between each bound of `latency` and the bound before."""
    below = (0, *latency.below)
    return [100.0 * (late - early) / max(1, latency.count) for early, late in pairwise(below)]


def margins_table(scene: Scene) -> str:
    """Return the needs of the plan beside the resources of its machines, the scarcest first."""
    known = [limit for limit in scene.limits if limit.known and limit.needed is not None and limit.has]
    shares = sorted(
        ((float(limit.needed or 0) / float(limit.has or 1), limit.who, limit.kind) for limit in known), reverse=True
    )
    rows = [
        (
            (f"{who} ({kind})", ""),
            (f"{share:.0%}", "bad" if share > 1 else "warn" if share > _NEAR else ""),
            (f"<meter min='0' max='1' high='0.9' value='{min(share, 1.0):.3f}'></meter>", "raw"),
        )
        for share, who, kind in shares[:8]
    ]
    return (
        _table(("of", "needed", "share"), rows, "margins")
        if rows
        else "<p class='quiet'>Nothing is known of limits.</p>"
    )


def past_table(runs: Iterable[PastRun], way: str) -> str:
    """Return the table of past runs. `way`: the path of their reports, before the number."""
    rows = [
        (
            (
                f"<a target='_blank' rel='noopener' href='{way}{run.number}/report.html'>{html.escape(run.name)}</a>",
                "raw",
            ),
            (run.when.strftime("%Y-%m-%d %H:%M:%S"), ""),
            ("✔ good" if run.good else "✖ not good", "" if run.good else "bad"),
            (f"{run.frames:,}", "number"),
            (f"{run.books.accepted:,}", "number"),
            (f"{run.hits:.1%}" if run.hits is not None else "", "number"),
            (f"{run.books.missing:,}", "number"),
        )
        for run in runs
    ]
    head = ("run", "ended (UTC)", "verdict", "frames", "accepted", "hits", "missing")
    return _table(head, rows, "past") if rows else "<p class='quiet'>No reports here yet.</p>"


def _table(head: Sequence[str], rows: Iterable[Sequence[tuple[str, str]]], name: str) -> str:
    """Return an HTML table. Each cell is text and class; a cell of class `raw` is HTML."""
    titles = "".join(f"<th scope='col'>{html.escape(text)}</th>" for text in head)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td class='{kind}'>{text if kind == 'raw' else html.escape(text).replace(chr(10), '<br>')}</td>"
            for text, kind in row
        )
        + "</tr>"
        for row in rows
    )
    return f"<table class='{name}'><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
