# SPDX-License-Identifier: Apache-2.0
"""Writes the report of a run: report.json (schema/report.schema.json) for programs, report.html for people, and nodes.log, the output of nodes that
the run started."""

import contextlib
import dataclasses
import functools
import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rashpa.cli.report.begun_pictures import BegunPictures
from rashpa.cli.report.gain_modes import gain_mode_cautions
from rashpa.cli.report.page_module import page_module
from rashpa.cli.report.run_verdict import judged_files, verdict_cautions
from rashpa.cli.ways_to_images import planned_file
from rashpa.control.books.outcome import Outcome, keeps_of
from rashpa.control.books.proof import proof_of
from rashpa.control.nodes.machine import machine_facts
from rashpa.control.plan.emulators import PlannedEmulator
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.telegrams.telegram import Books, BufferStatus, Latency, SourceStatus, count_of
from rashpa.data.base.plain_text import turned_marked
from rashpa.data.base.telling import only_tells
from rashpa.data.files.regular_file import put_file

VERSION = 1
REPORT_FILES = ("report.json", "report.html", "nodes.log")
PAGE_NEEDS = ("bokeh", "h5py", "numpy", "PIL")
"""Modules of others that report.html is drawn with, beside those of every command."""
STAGES = ("ready", "decision", "written")
_VERIFY = ("all", "sampled", "off")  # the last proves least
_FAULTS = ("drop", "duplicate", "reorder", "corrupt", "stall", "dead_images")


@functools.cache
def _machine() -> dict[str, Any]:
    """Return the facts of this machine as they were at the first call: those of the commit take two processes."""
    return machine_facts()


def get_ready(page: bool) -> None:
    """Find out the facts of this machine in advance; with `page`, also import the modules of a whole report and draw an empty page. A part that fails
    is left to the report, which gives the error at its own place."""
    for part in (_machine, _load_page, _load_files) if page else (_machine,):
        with contextlib.suppress(Exception):
            part()


def _load_page() -> None:
    page_module().load()


def _load_files() -> None:
    for name in ("control.books.series_books", "data.making.nxmx_check", "data.stored.opened", "cli.files.combine"):
        importlib.import_module(f"rashpa.{name}")


def write_report(
    outcome: Outcome, folder: Path, run_file: Path, page: bool = True, begun: BegunPictures | None = None
) -> tuple[Path, ...]:
    """Write the files into `folder`, which exists. Return the paths of report.json and, with `page`, of report.html. `begun`: the pictures of the
    page, if they were begun. Nodes that stay up keep their own logs. A part that cannot be shown becomes a caution of the outcome. Raise OSError when
    report.json cannot be written."""
    as_json, as_html, log = (folder / name for name in REPORT_FILES)
    lines = [f"{name}: {line}\n" for name, said in outcome.logs.items() for line in said]
    _put_or_caution(outcome, log, lambda: "".join(lines))

    judged: list[dict[str, Any]] = []
    trouble: list[str] = []
    with only_tells("the verdict on the files", trouble.append):
        judged += judged_files(outcome) if page else []
    modes: list[str] = []
    with only_tells("the gain mode of the files", trouble.append):
        modes += gain_mode_cautions(outcome)
    outcome.cautions += (*trouble, *modes, *verdict_cautions(judged))

    def drawn() -> str:
        pictures = begun or BegunPictures(outcome)
        html: str = page_module().html_of(report_of(outcome, run_file, judged), outcome, pictures.result)
        return turned_marked(html)

    shown = _put_or_caution(outcome, as_html, drawn if page else str)
    # the last: a reader that finds it finds the others
    put_file(
        as_json,
        f"{json.dumps(report_of(outcome, run_file, judged), indent=2, ensure_ascii=False)}\n".encode(errors="replace"),
    )
    return (as_json, as_html) if shown else (as_json,)


def _put_or_caution(outcome: Outcome, path: Path, text_of: Callable[[], str]) -> bool:
    """Write the file, or add a caution to the outcome; return True when the file was written. A file of an earlier run is removed in any case."""
    trouble: list[str] = []
    text = ""
    with only_tells(str(path), trouble.append):
        text = text_of()
        if text:
            put_file(path, text.encode(errors="replace"))
        else:
            path.unlink(missing_ok=True)
    if trouble:
        outcome.cautions += tuple(trouble)
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
    return bool(text) and not trouble


def report_of(outcome: Outcome, run_file: Path, judged: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the report of a run as JSON. `judged`: the findings of `rashpa check` on its files."""
    from rashpa.control.books.series_books import series_of  # NumPy, for which no node waits

    file = outcome.plan.file
    rates = outcome.rates
    link = outcome.link_counts
    buffers = outcome.buffers
    return {
        "version": VERSION,
        "made": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "run": {
            "name": file.run.name,
            "number": file.run.number,
            "sample": file.run.sample,
            "comment": file.run.comment,
            "file": str(run_file),
            "frames": outcome.frames,
            "modules": len(file.detector.module),
            "planned_rate_hz": file.detector.rate_hz,
            "good": outcome.good,
            "problem": outcome.problem,
            "reasons": list(outcome.reasons),
            "cautions": list(outcome.all_cautions),
            "interrupted": outcome.interrupted,
            "stopped_by": outcome.stopped_by,
            "acquisition_s": outcome.acquisition_s,
        },
        "books": _books(outcome.books, outcome.balanced),
        "emulators": [_emulator(outcome, emulator) for emulator in outcome.plan.emulators],
        "groups": [dataclasses.asdict(group) for group in outcome.groups],
        "receivers": [_receiver(outcome, receiver) for receiver in outcome.plan.receivers],
        "buffers": [_buffer(outcome, buffer) for buffer in buffers],
        "files": [dict(one) for one in judged],
        "series": [dataclasses.asdict(series) for series in series_of(outcome)],
        "rates": {
            "elapsed_s": rates.elapsed_s,
            "frames_per_s": rates.frames_per_s,
            "images_per_s": rates.images_per_s,
            "payload_gb_per_s": rates.payload_gb_per_s,
        },
        # of the worst buffer: percentiles of several cannot be merged
        "latency_us": worst_latencies(latency for buffer in buffers for latency in buffer.latencies),
        "injected": _injected(outcome),
        "replayed": outcome.replayed or None,
        "overruns": [{**dataclasses.asdict(overrun), "text": overrun.text} for overrun in outcome.overruns],
        "link": link,
        **_proofs(outcome),
        "memory": ", ".join(dict.fromkeys(status.memory for status in outcome.destinations.values())),
        "source": _source(outcome.sources.values()),
        "notifications": [
            {"node": notice.node, "what": notice.what, "text": notice.text}
            for status in (*outcome.emulators.values(), *outcome.receivers.values())
            for notice in status.notifications
        ],
        "software": {name: capabilities.software for name, capabilities in outcome.capabilities.items()},
        "machine": dict(_machine()),
    }


def _proofs(outcome: Outcome) -> dict[str, Any]:
    """Return the results of the pixel checks, by packets and by images."""
    asked, link = outcome.plan.file.link, outcome.link_counts
    kinds = list(dict.fromkeys(receiver.destination_kind for receiver in outcome.plan.receivers))
    tables = [(kind, asked.of(kind)) for kind in kinds]
    proofs = [proof_of(kind, getattr(keys, "verify", "off"), getattr(keys, "records", True)) for kind, keys in tables]
    checks = ["provider" if kind == "verbs" else getattr(keys, "icrc", "none") for kind, keys in tables]
    return {
        "icrc": {
            "check": next((check for check in checks if check != "none"), "none"),
            "exact": link.get("icrc_exact", 0),
            "modulo_id": link.get("icrc_modulo_id", 0),
            "bad": link.get("icrc_bad", 0),
        },
        "proof": {
            "verify": max((verify for _, verify in proofs), key=_VERIFY.index),
            "of": "; ".join(dict.fromkeys(of for of, _ in proofs)),
            "crc_mismatches": link.get("crc_mismatches", 0),
        },
    }


def _books(books: Books, balanced: bool) -> dict[str, Any]:
    return {**dataclasses.asdict(books), "balanced": balanced}


def worst_latencies(latencies: Iterable[Latency]) -> dict[str, dict[str, float]]:
    """Return, for each stage, the largest value of each latency figure."""
    result: dict[str, dict[str, float]] = {stage: {"count": 0, "p50": 0.0, "p99": 0.0, "max": 0.0} for stage in STAGES}
    for latency in latencies:
        one = result.setdefault(latency.stage, {"count": 0, "p50": 0.0, "p99": 0.0, "max": 0.0})
        one["count"] += latency.count
        for name in ("p50", "p99", "max"):
            one[name] = max(one[name], getattr(latency, name))
    return result


def _receiver(outcome: Outcome, receiver: PlannedReceiver) -> dict[str, Any]:
    """Describe one receiver: its node, the books over its buffers, the counters of its link. `heard`: True when it ever answered; `lost`: True when
    the run continued without it. The books of a lost receiver are the last ones it sent, and are part of no sum."""
    status = outcome.destinations.get(receiver.name)
    own = [buffer.section.name for buffer in outcome.plan.buffers_of(receiver.name)]
    known = [buffer.books for buffer in status.buffers] if status else []
    balanced = len(known) == len(own) and all(books.balanced for books in known)
    return {
        "name": receiver.name,
        "node": receiver.node,
        "heard": status is not None,
        "lost": receiver.name in outcome.lost,
        "buffers": own,
        "books": _books(sum(known, Books()), balanced),
        "elapsed_s": status.elapsed_s if status else 0.0,
        "memory": status.memory if status else "",
        "link": count_of(status.counts, "link") if status else {},
    }


def _buffer(outcome: Outcome, buffer: BufferStatus) -> dict[str, Any]:
    planned = next(known for known in outcome.plan.buffers if known.section.name == buffer.name)
    account = next((known for known in outcome.accounts if known.name == buffer.name), None)
    return {
        "name": buffer.name,
        "receiver": planned.receiver,
        "width": planned.width,
        "height": planned.height,
        "every": planned.section.every,
        "phase": planned.section.phase,
        "books": _books(buffer.books, buffer.books.balanced),
        "vetoes": count_of(buffer.counts, "veto"),
        "errors": count_of(buffer.counts, "error"),
        "first_errored": dataclasses.asdict(buffer.first_errored) if buffer.first_errored else None,
        "latency_us": worst_latencies(buffer.latencies),
        "feedback": dataclasses.asdict(buffer.feedback) if buffer.feedback else None,
        "file": buffer.file or planned_file(outcome, planned),
        "sinks": [
            {
                "name": sink.name,
                "kind": section.kind,
                "keeps": keeps_of(section.kind),
                **dataclasses.asdict(sink),
                "consumers": [dataclasses.asdict(one) for one in sink.consumers],
            }
            for section, sink in zip(planned.section.sink, buffer.sinks, strict=False)
        ],
        "bytes_written": buffer.bytes_written,
        "bytes_stored": buffer.bytes_stored,
        "sink_error": buffer.sink_error,
        "unit": buffer.unit,
        "unit_error": buffer.unit_error,
        "busy": buffer.busy,
        "limits": [dataclasses.asdict(one) for one in buffer.limits],
        "unexplained": account.unexplained if account else None,
        "dtps": [
            {
                **{
                    name: getattr(dtp, name)
                    for name in ("id", "module", "expected", "complete", "partial", "missing", "lines_missing")
                },
                "losses": count_of(dtp.counts, "loss"),
            }
            for dtp in buffer.dtps
        ],
    }


def _injected(outcome: Outcome) -> dict[str, Any]:
    counts = outcome.injected
    accounts = outcome.accounts
    return {
        **{name: counts.get(name, 0) for name in (*_FAULTS, *(extra for extra in counts if extra not in _FAULTS))},
        "expected_complete": sum(account.expected_complete for account in accounts),
        "expected_partial": sum(account.expected_partial for account in accounts),
        "expected_missing": sum(account.expected_missing for account in accounts),
        # None: the tables could not be compared, because a node was lost or the run was interrupted
        "unexplained": outcome.unexplained if accounts else None,
        "first_unexplained": next((account.first_unexplained for account in accounts if account.first_unexplained), ""),
    }


def _source(sources: Iterable[SourceStatus]) -> dict[str, Any]:
    """Combine the status of all emulators: the longest time, and the counts of every DTP."""
    known = list(sources)
    dtps = sorted((dtp for source in known for dtp in source.dtps), key=lambda dtp: dtp.id)
    elapsed_s = max((source.elapsed_s for source in known), default=0.0)
    return {"elapsed_s": elapsed_s, "dtps": [dataclasses.asdict(dtp) for dtp in dtps]}


def _emulator(outcome: Outcome, emulator: PlannedEmulator) -> dict[str, Any]:
    """Describe one emulator: its node, the frames it played, the faults it injected. `heard`: True when it ever answered."""
    source = outcome.sources.get(emulator.name)
    return {
        "name": emulator.name,
        "node": emulator.node,
        "heard": source is not None,
        "modules": list(emulator.modules),
        "dtps": [dtp.id for dtp in outcome.plan.dtps_from(emulator.name)],
        "elapsed_s": source.elapsed_s if source else 0.0,
        "images_sent": sum(dtp.images_sent for dtp in source.dtps) if source else 0,
        "images_skipped": sum(dtp.images_skipped for dtp in source.dtps) if source else 0,
        "injected": count_of(source.counts, "injected") if source else {},
        "engine": emulator.engine,
        "card": _card(outcome.cards.get(emulator.name)),
    }


def _card(counts: dict[str, int] | None) -> dict[str, Any] | None:
    """Return the cycles of a card by cause, None without a card."""
    if not counts:
        return None
    return {"simulated": counts["clock_khz"] == 0, **counts}
