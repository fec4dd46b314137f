# SPDX-License-Identifier: Apache-2.0
"""The tables of report.html: all facts of report.json for people."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

_MOST_DTPS = 64


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    known = list(rows)
    words = known[0] if known else head
    cells = "".join(f"<th{_kind(word)}>{html.escape(text)}</th>" for text, word in zip(head, words, strict=True))
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in known)
    return f"<div class='wide'><table><tr>{cells}</tr>{body}</table></div>"


def _cell(value: Any) -> str:
    return f"<td{_kind(value)}>{html.escape(_text(value))}</td>"


def _kind(value: Any) -> str:
    return " class='text'" if isinstance(value, str) else ""


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "NO", None: "not known"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def pairs_table(values: dict[str, Any]) -> str:
    """Return a table of name and value."""
    return _table(("", ""), values.items())


def books_table(report: dict[str, Any]) -> str:
    """Return the books of each buffer, and of all."""
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


def consumers_part(report: dict[str, Any]) -> Iterable[str]:
    """Yield the consumers to which sinks have sent images; nothing where there are none."""
    rows = [
        (buffer["name"], sink["name"], one["endpoint"], one["sent"], one["missed"], sink.get("restarts", 0))
        for buffer in report["buffers"]
        for sink in buffer.get("sinks", ())
        for one in sink.get("consumers", ())
    ]
    if rows:
        yield "<h3>Consumers</h3><p>Images that the queue of each has taken, and for which it had no room or nobody was there; how often the process that sends has died and come back.</p>"
        yield _table(("buffer", "sink", "consumer", "sent", "missed", "restarts"), rows)


def sinks_table(report: dict[str, Any]) -> str:
    """Return the counts and the errors of each sink."""
    names = ("accepted", "written", "dropped", "errored", "waiting", "bytes_written", "bytes_stored")
    rows = [
        (buffer["name"], sink["name"], sink["keeps"], sink["on_full"], *(sink[name] for name in names), sink["error"])
        for buffer in report["buffers"]
        for sink in buffer.get("sinks", ())  # reports of before have none
    ]
    return _table(("buffer", "sink", "keeps", "on full", *(name.replace("_", " ") for name in names), "error"), rows)


def run_table(report: dict[str, Any]) -> str:
    """Return the name, settings and times of the run."""
    run = report["run"]
    ended = {"ended early by": run["stopped_by"]} if run["stopped_by"] else {}
    planned = f"{run['planned_rate_hz']:g} Hz" if run["planned_rate_hz"] else "as fast as it goes"
    return pairs_table(
        {
            "run file": run["file"],
            "number": str(run["number"]),
            "frames": run["frames"],
            "modules": run["modules"],
            "planned rate": planned,
            "acquisition": f"{run['acquisition_s']:.2f} s",
            **ended,
            "report made": report["made"],
        }
    )


def vetoes_part(report: dict[str, Any]) -> Iterable[str]:
    """Yield the reasons why images were not kept; nothing where all were kept."""
    for title, column in (("Vetoes", "vetoes"), ("Errors", "errors")):
        rows = [
            (
                buffer["name"],
                reason.replace("_", " "),
                count,
                f"{100 * count / max(1, buffer['books']['expected']):.3g} %",
            )
            for buffer in report["buffers"]
            for reason, count in buffer[column].items()
            if count
        ]
        if rows:
            yield f"<h2>{title}</h2>"
            yield _table(("buffer", "reason", "images", "of all"), rows)
    for buffer in report["buffers"]:
        first = buffer["first_errored"]
        said = (
            [f"the first: image {first['index']} (frame {first['frame']}), {first['reason']}: {first['text']}"]
            if first
            else []
        )
        said += [text for text in (buffer["unit_error"], buffer["busy"], buffer["sink_error"]) if text]
        yield from (f"<p class='bad'>buffer {html.escape(buffer['name'])}: {html.escape(text)}</p>" for text in said)


def compression_table(report: dict[str, Any]) -> str:
    """Return the file of each buffer and its compression."""
    rows = [
        (
            buffer["name"],
            buffer["file"] or "no file",
            f"{buffer['width']}\u00a0×\u00a0{buffer['height']}",
            buffer["books"]["written"],
            f"{buffer['bytes_written'] / 1e6:,.1f}\u00a0MB",
            f"{buffer['bytes_stored'] / 1e6:,.1f}\u00a0MB",
            f"{buffer['bytes_written'] / buffer['bytes_stored']:.2f}" if buffer["bytes_stored"] else "",
            buffer["unit"],
        )
        for buffer in report["buffers"]
    ]
    head = ("buffer", "file", "arriving pixels", "images", "before compression", "stored", "times smaller", "unit")
    return _table(head, rows)


def dtps_table(report: dict[str, Any]) -> str:
    """Return the arrivals of each DTP, and the reasons of losses."""
    names = ("id", "module", "expected", "complete", "partial", "missing", "lines_missing")
    rows = [
        (
            buffer["name"],
            *(dtp[name] for name in names),
            ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in dtp["losses"].items() if count),
        )
        for buffer in report["buffers"]
        for dtp in buffer["dtps"]
    ]
    more = f"<p class='quiet'>… and {len(rows) - _MOST_DTPS} more, in report.json</p>" if len(rows) > _MOST_DTPS else ""
    shown = rows[:_MOST_DTPS]
    return _table(("buffer", *(name.replace("_", " ") for name in names), "losses"), shown) + more


def events_part(report: dict[str, Any]) -> Iterable[str]:
    """Yield the events of the run: overruns, groups, series, feedback, messages of nodes."""
    if report["groups"]:
        names = ("name", "images", "complete", "partial", "missing", "duplicates", "resent")
        yield "<h2>Groups</h2>"
        yield _table(names, [[group[name] for name in names] for group in report["groups"]])
    if report["series"]:
        yield "<h2>Series</h2>"
        columns = ("buffer", "expected", "complete", "partial", "missing", "accepted", "vetoed", "errored")
        rows = [
            (one["number"], *(books[name] for name in columns)) for one in report["series"] for books in one["books"]
        ]
        yield _table(("series", *columns), rows)
    feedback = [(buffer["name"], buffer["feedback"]) for buffer in report["buffers"] if buffer["feedback"]]
    if feedback:
        said = ("ring", "zmq", "published", "sent", "dropped", "full", "restarts")
        yield "<h2>Feedback</h2>"
        yield _table(("buffer", *said), [(name, *(found.get(one, 0) for one in said)) for name, found in feedback])
    if report["overruns"]:
        yield "<h2>Overruns</h2>"
        yield _table(("after s", "what"), [(overrun["at_s"], overrun["text"]) for overrun in report["overruns"]])
    if report["notifications"]:
        yield "<h2>What nodes have said</h2>"
        rows = [(notice["node"], notice["what"], notice["text"]) for notice in report["notifications"]]
        yield _table(("node", "what", "text"), rows)


def emulators_part(report: dict[str, Any]) -> Iterable[str]:
    """Yield the place and the counts of each emulator; nothing for a single one, which the rest of the page describes."""
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


def cards_part(report: dict[str, Any]) -> Iterable[str]:
    """Yield the cycles of cards by cause; nothing without a card."""
    cards = {each["name"]: each["card"] for each in report["emulators"] if each.get("card")}
    if not cards:
        return
    yield "<h2>Cards</h2><p>Counted by each card in cycles of its clock.</p>"
    if any(card["simulated"] for card in cards.values()):
        yield "<p>A simulated card has no clock: how long its cycles took says nothing of a real one.</p>"
    names = list(next(iter(cards.values())))
    rows = [(name.replace("_", " "), *(card[name] for card in cards.values())) for name in names]
    yield _table(("", *cards), rows)


def receivers_part(report: dict[str, Any]) -> Iterable[str]:
    """Yield the place and the link counters of each receiver; nothing for a single one, which the rest of the page describes."""
    if len(report["receivers"]) == 1:
        return
    yield "<h2>Receivers</h2>"
    rows = [
        (each["name"], each["node"], each["memory"] if each["heard"] else "never heard", each["elapsed_s"])
        for each in report["receivers"]
    ]
    yield _table(("receiver", "node", "memory", "elapsed s"), rows)
    yield from (
        f"<h3>{html.escape(each['name'])}: link</h3>{pairs_table(each['link'])}"
        for each in report["receivers"]
        if each["link"]
    )


def latency_table(report: dict[str, Any]) -> str:
    """Return the latencies of each buffer and stage."""
    rows = [
        (buffer["name"], stage, figures["count"], figures["p50"], figures["p99"], figures["max"])
        for buffer in report["buffers"]
        for stage, figures in buffer["latency_us"].items()
    ]
    return _table(("buffer", "until", "stacks", "p50", "p99", "max"), rows)
