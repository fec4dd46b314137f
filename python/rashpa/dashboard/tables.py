# SPDX-License-Identifier: Apache-2.0
"""Shows numbers on the page as HTML; Jinja2 escapes all text from nodes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rashpa.control.nodes.node_progress import Sending
from rashpa.control.telegrams.telegram import Books, Latency, count_of
from rashpa.dashboard.alarms import Alarm
from rashpa.dashboard.course import Course
from rashpa.dashboard.markup import html_of
from rashpa.dashboard.past.past_runs import PastRun
from rashpa.dashboard.scene import NodeScene, Scene
from rashpa.dashboard.state_line import state_parts

BOOKS = ("expected", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written")
_BAD = ("lost", "fault")
_LOW, _LATE_S, _NEAR = 0.1, 0.1, 0.9
_SIGNS = {"lost": "✖", "fault": "✖", "running": "▶", "paused": "‖", "finished": "■", "idle": "○", "gone": "■"}


@dataclass(frozen=True)
class Cell:
    """Holds a cell of a table. `mark`: a class of the style sheet; `share`: a value that is drawn as a meter; `link`: the address of a link in the
    text; `image`: the address of an image."""

    text: str
    mark: str = ""
    share: float | None = None
    link: str = ""
    image: str = ""


def head(scene: Scene, course: Course) -> str:
    """Return the line of state as HTML."""
    return html_of("head", state_parts(scene, course), scene.state, scene.done if scene.going else None)


def alerts(scene: Scene, alarms: Sequence[Alarm] = ()) -> str:
    """Return the alarms as HTML, and the lines that a person must read: on the end of a run, and on a run without its manager."""
    return html_of("alerts", alarms, scene.going and not scene.managed, scene.ending, scene.state == "ended")


def books_table(scene: Scene) -> str:
    """Return the books of each buffer and their sum. After a run with a report they come from the report, which leaves out lost members."""
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
        rows.append(("total", sum((books for _, books in rows), Books())))
    if not rows:
        return html_of("quiet", "No buffer yet.")
    return html_of("books", [(name, list(_counts(books))) for name, books in rows], BOOKS)


def _counts(books: Books) -> Iterator[tuple[str, str, str]]:
    for state in BOOKS:
        value = getattr(books, state)
        mark = {"errored": "bad", "missing": "warn", "partial": "warn"}.get(state, "") if value else ""
        yield state, f"{value:,}", mark


def _name(scene: Scene, node: str, buffer: str) -> str:
    several = len({one.node for one in scene.buffers}) > 1
    return f"{node}: {buffer}" if several else buffer


def nodes_table(scene: Scene) -> str:
    """Return state and load of each node."""
    rows = [_node_row(node) for node in scene.nodes]
    if not rows:
        return html_of("quiet", "No node to look at: those that a run starts itself are there while it lasts.")
    problems = [
        node.problem or (node.status.message if node.status is not None else "")
        for node in scene.nodes
        if node.problem or (node.status is not None and node.status.state == "fault")
    ]
    text = html_of("table", ("node", "state", "CPUs", "memory", "°C", "images", "margin"), rows, "nodes")
    return text + html_of("problems", problems)


def _node_row(node: NodeScene) -> Sequence[Cell]:
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
        Cell(node.name),
        Cell(f"{_SIGNS.get(state, '')} {state}", mark),
        Cell(processors, "number"),
        Cell(memory, "number"),
        Cell(f"{node.load.temperature_c:.0f}" if node.load and node.load.temperature_c is not None else "", "number"),
        Cell("\n".join(rates)),
        Cell("\n".join(margins), "warn" if low else ""),
    )


def vetoes_table(scene: Scene) -> str:
    """Return the numbers of images by reason of veto and of error; after a run with a report, from the report."""
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
                    share = f"{count / max(1, books.decided):.1%}"
                    said = Cell(f"{word}: {reason.replace('_', ' ')}")
                    rows.append((Cell(name), said, Cell(f"{count:,}", "number"), Cell(share, "number")))
    return _table(("buffer", "reason", "images", "of decided"), rows, "vetoes", "None.")


def latency_table(scene: Scene) -> str:
    """Return the latencies of each stage since the run began."""
    rows = []
    for buffer in scene.buffers:
        for latency in buffer.status.latencies:
            if latency.count:
                figures = (Cell(_time(value), "number") for value in (latency.p50, latency.p99, latency.max))
                rows.append((Cell(_name(scene, buffer.node, buffer.status.name)), Cell(latency.stage), *figures))
    return _table(("buffer", "until", "half below", "99 % below", "longest"), rows, "latency")


def _time(us: float) -> str:
    return f"{us:,.0f} µs" if us < 1e3 else f"{us / 1e3:,.1f} ms" if us < 1e6 else f"{us / 1e6:,.2f} s"


def latency_bins(latency: Latency) -> list[float]:
    """Return the percentage of images between each bound of `latency` and the previous bound."""
    below = (0, *latency.below)
    return [100.0 * (late - early) / max(1, latency.count) for early, late in pairwise(below)]


def margins_table(scene: Scene) -> str:
    """Return the needs of the plan compared with the resources of its machines, the scarcest first."""
    known = [limit for limit in scene.limits if limit.known and limit.needed is not None and limit.has]
    shares = sorted(
        ((float(limit.needed or 0) / float(limit.has or 1), limit.who, limit.kind) for limit in known), reverse=True
    )
    rows = [
        (
            Cell(f"{who} ({kind})"),
            Cell(f"{share:.0%}", "bad" if share > 1 else "warn" if share > _NEAR else ""),
            Cell("", share=min(share, 1.0)),
        )
        for share, who, kind in shares[:8]
    ]
    return _table(("of", "needed", "share"), rows, "margins", "Nothing is known of limits.")


def past_table(runs: Iterable[PastRun], way: str) -> str:
    """Return the table of past runs. `way`: the path of their reports, before the number."""
    rows = [
        (
            Cell("", image=f"{way}{run.number}/thumbnail.png"),
            Cell(run.name, link=f"{way}{run.number}/report.html"),
            Cell(run.sample),
            Cell(run.when.strftime("%Y-%m-%d %H:%M:%S")),
            Cell("✔ good" if run.good else "✖ not good", "" if run.good else "bad"),
            Cell(f"{run.frames:,}", "number"),
            Cell(f"{run.books.accepted:,}", "number"),
            Cell(f"{run.hits:.1%}" if run.hits is not None else "", "number"),
            Cell(f"{run.books.missing:,}", "number"),
            Cell(f"{run.stored_bytes / 1e6:,.1f} MB" if run.stored_bytes is not None else "", "number"),
            Cell(str(run.folder)),
        )
        for run in runs
    ]
    titles = (
        "image",
        "run",
        "sample",
        "ended (UTC)",
        "verdict",
        "frames",
        "accepted",
        "hits",
        "missing",
        "stored",
        "report",
    )
    return _table(titles, rows, "past", "No reports here yet.")


def _table(titles: Sequence[str], rows: Sequence[Sequence[Cell]], name: str, otherwise: str = "") -> str:
    """Return a table as HTML; without rows the text `otherwise`."""
    if rows:
        return html_of("table", titles, rows, name)
    return html_of("quiet", otherwise) if otherwise else ""
