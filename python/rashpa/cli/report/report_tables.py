# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of report.html from report.json."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from rashpa.cli.report.page_parts import Heading, Note, Part, Table, pairs_of, table_of

_MOST_DTPS = 64


def books_table(report: dict[str, Any]) -> Table:
    """Return the books of each buffer, and their sum."""
    names = list(report["books"])
    if len(report["receivers"]) == 1:
        rows = [(buffer["name"], *(buffer["books"][name] for name in names)) for buffer in report["buffers"]]
        return table_of(("buffer", *names), [*rows, ("all", *report["books"].values())])
    # of each receiver its buffers, then all of them
    rows = []
    for receiver in report["receivers"]:
        own = [buffer for buffer in report["buffers"] if buffer["receiver"] == receiver["name"]]
        rows += [(buffer["name"], receiver["name"], *(buffer["books"][name] for name in names)) for buffer in own]
        rows.append(("all", receiver["name"], *(receiver["books"][name] for name in names)))
    rows.append(("all", "all", *report["books"].values()))
    return table_of(("buffer", "receiver", *names), rows)


def consumers_part(report: dict[str, Any]) -> Iterable[Part]:
    """Yield the consumers to which sinks have sent images; nothing where there are none."""
    rows = [
        (buffer["name"], sink["name"], one["endpoint"], one["sent"], one["missed"], sink.get("restarts", 0))
        for buffer in report["buffers"]
        for sink in buffer.get("sinks", ())
        for one in sink.get("consumers", ())
    ]
    if rows:
        yield Heading("Consumers", 3)
        yield Note(
            "Images that the queue of each has taken, and for which it had no room or nobody was there; how often the process that sends has died and come back."
        )
        yield table_of(("buffer", "sink", "consumer", "sent", "missed", "restarts"), rows)


def sinks_table(report: dict[str, Any]) -> Table:
    """Return the counts and the errors of each sink."""
    names = ("accepted", "written", "dropped", "errored", "waiting", "bytes_written", "bytes_stored")
    rows = [
        (buffer["name"], sink["name"], sink["keeps"], sink["on_full"], *(sink[name] for name in names), sink["error"])
        for buffer in report["buffers"]
        for sink in buffer.get("sinks", ())  # reports of before have none
    ]
    return table_of(("buffer", "sink", "keeps", "on full", *(name.replace("_", " ") for name in names), "error"), rows)


def run_table(report: dict[str, Any]) -> Table:
    """Return the name, settings and times of the run."""
    run = report["run"]
    ended = {"ended early by": run["stopped_by"]} if run["stopped_by"] else {}
    said = {name: run[name] for name in ("sample", "comment") if run.get(name)}
    planned = f"{run['planned_rate_hz']:g} Hz" if run["planned_rate_hz"] else "as fast as it goes"
    return pairs_of(
        {
            "run file": run["file"],
            "number": str(run["number"]),
            **said,
            "frames": run["frames"],
            "modules": run["modules"],
            "planned rate": planned,
            "acquisition": f"{run['acquisition_s']:.2f} s",
            **ended,
            "report made": report["made"],
        }.items()
    )


def vetoes_part(report: dict[str, Any]) -> Iterable[Part]:
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
            yield Heading(title)
            yield table_of(("buffer", "reason", "images", "of all"), rows)
    for buffer in report["buffers"]:
        first = buffer["first_errored"]
        said = (
            [f"the first: image {first['index']} (frame {first['frame']}), {first['reason']}: {first['text']}"]
            if first
            else []
        )
        said += [text for text in (buffer["unit_error"], buffer["busy"], buffer["sink_error"]) if text]
        yield from (Note(f"buffer {buffer['name']}: {text}", "bad") for text in said)


def limits_part(report: dict[str, Any]) -> Iterable[Part]:
    """Yield the changes of a veto's limits during the run."""
    rows = [
        (
            buffer["name"],
            one["step"],
            one["key"],
            str(json.loads(one["old"])),
            str(json.loads(one["new"])),
            one["first_image"],
            datetime.fromtimestamp(one["time_ns"] / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
            one["by"],
        )
        for buffer in report["buffers"]
        for one in buffer.get("limits", ())
    ]
    if rows:
        yield Heading("Limits of vetoes that changed")
        yield table_of(("buffer", "veto", "limit", "before", "then", "from image", "when", "by"), rows)


def compression_table(report: dict[str, Any]) -> Table:
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
    return table_of(head, rows)


def dtps_part(report: dict[str, Any]) -> Iterable[Part]:
    """Yield the arrivals of each DTP, and the causes of losses."""
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
    yield table_of(("buffer", *(name.replace("_", " ") for name in names), "losses"), rows[:_MOST_DTPS])
    if len(rows) > _MOST_DTPS:
        yield Note(f"… and {len(rows) - _MOST_DTPS} more, in report.json", "quiet")


def events_part(report: dict[str, Any]) -> Iterable[Part]:
    """Yield the events of the run: overruns, groups, series, feedback, and messages of nodes."""
    if report["groups"]:
        names = ("name", "images", "complete", "partial", "missing", "duplicates", "resent")
        yield Heading("Groups")
        yield table_of(names, [[group[name] for name in names] for group in report["groups"]])
    if report["series"]:
        yield Heading("Series")
        columns = ("buffer", "expected", "complete", "partial", "missing", "accepted", "vetoed", "errored")
        rows = [
            (one["number"], *(books[name] for name in columns)) for one in report["series"] for books in one["books"]
        ]
        yield table_of(("series", *columns), rows)
    feedback = [(buffer["name"], buffer["feedback"]) for buffer in report["buffers"] if buffer["feedback"]]
    if feedback:
        said = ("ring", "zmq", "published", "sent", "dropped", "full", "restarts")
        yield Heading("Feedback")
        yield table_of(("buffer", *said), [(name, *(found.get(one, 0) for one in said)) for name, found in feedback])
    if report["overruns"]:
        yield Heading("Overruns")
        yield table_of(("after s", "what"), [(overrun["at_s"], overrun["text"]) for overrun in report["overruns"]])
    if report["notifications"]:
        yield Heading("What nodes have said")
        rows = [(notice["node"], notice["what"], notice["text"]) for notice in report["notifications"]]
        yield table_of(("node", "what", "text"), rows)


def emulators_part(report: dict[str, Any]) -> Iterable[Part]:
    """Yield the place and the counts of each emulator. Yield nothing for a single emulator, which the rest of the page describes."""
    if len(report["emulators"]) == 1:
        return
    yield Heading("Emulators")
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
    yield table_of(("emulator", "node", "modules", "images sent", "skipped", "faults injected", "elapsed s"), rows)


def cards_part(report: dict[str, Any]) -> Iterable[Part]:
    """Yield the cycles of cards by cause. Yield nothing without a card."""
    cards = {each["name"]: each["card"] for each in report["emulators"] if each.get("card")}
    if not cards:
        return
    yield Heading("Cards")
    yield Note("Counted by each card in cycles of its clock.")
    if any(card["simulated"] for card in cards.values()):
        yield Note("A simulated card has no clock: how long its cycles took says nothing of a real one.")
    names = list(next(iter(cards.values())))
    rows = [(name.replace("_", " "), *(card[name] for card in cards.values())) for name in names]
    yield table_of(("", *cards), rows)


def receivers_part(report: dict[str, Any]) -> Iterable[Part]:
    """Yield the place and the link counters of each receiver. Yield nothing for a single receiver, which the rest of the page describes."""
    if len(report["receivers"]) == 1:
        return
    yield Heading("Receivers")
    rows = [
        (each["name"], each["node"], each["memory"] if each["heard"] else "never heard", each["elapsed_s"])
        for each in report["receivers"]
    ]
    yield table_of(("receiver", "node", "memory", "elapsed s"), rows)
    for each in report["receivers"]:
        if each["link"]:
            yield Heading(f"{each['name']}: link", 3)
            yield pairs_of(each["link"].items())


def latency_table(report: dict[str, Any]) -> Table:
    """Return the latencies of each buffer and stage."""
    rows = [
        (buffer["name"], stage, figures["count"], figures["p50"], figures["p99"], figures["max"])
        for buffer in report["buffers"]
        for stage, figures in buffer["latency_us"].items()
    ]
    return table_of(("buffer", "until", "stacks", "p50", "p99", "max"), rows)
