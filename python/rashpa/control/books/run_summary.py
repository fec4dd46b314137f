# SPDX-License-Identifier: Apache-2.0
"""Summarises a run in a few lines: verdict, loss, rate, hits, files. Reports, file summaries and displays during a run have the same lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_MOST_FILES = 4
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_THOUSAND = 1000.0


@dataclass(frozen=True)
class SummaryLine:
    """Holds one line. `mark`: "good", "bad" or empty; `code`: True for a line to type in a shell or program."""

    name: str
    text: str
    mark: str = ""
    code: bool = False


@dataclass(frozen=True)
class StoredFile:
    """Holds one file of a run. `place`: the name of its machine, empty for this machine."""

    path: str
    images: int
    bytes: int
    place: str = ""


@dataclass(frozen=True)
class SummaryFacts:
    """Holds the facts of the lines. `good`: None before the verdict; `asked_hz`: the requested frame rate, 0 when unthrottled; rates are None when
    unknown."""

    verdict: str
    good: bool | None
    books: Mapping[str, int]
    frames_per_s: float | None = None
    asked_hz: float | None = None
    gb_per_s: float | None = None
    vetoes: Mapping[str, int] = field(default_factory=dict)
    files: Sequence[StoredFile] = ()


def summary_lines(facts: SummaryFacts) -> list[SummaryLine]:
    """Return the lines of the summary."""
    mark = {True: "good", False: "bad", None: ""}[facts.good]
    lines = [SummaryLine("verdict", facts.verdict, mark), _loss(facts.books)]
    if facts.frames_per_s is not None:
        asked = (
            ""
            if facts.asked_hz is None
            else f" of {facts.asked_hz:g} asked"
            if facts.asked_hz
            else ", as fast as it goes"
        )
        speed = f"; {facts.gb_per_s:.3g} GB/s of pixels" if facts.gb_per_s else ""
        lines.append(SummaryLine("rate", f"{facts.frames_per_s:,.1f} frames/s{asked}{speed}"))
    lines.append(_hits(facts.books, facts.vetoes))
    if facts.files:
        lines.append(SummaryLine("files", _files(facts.files)))
    return lines


def open_lines(files: Sequence[StoredFile]) -> list[SummaryLine]:
    """Return the lines of code that open the first file of this machine."""
    first = next((file.path for file in files if not file.place and file.images), "")
    if not first:
        return []
    code = f"import rashpa\nrun = rashpa.open({first!r})\nprint(len(run), run.image(0))"
    return [
        SummaryLine("in Python", code, code=True),
        SummaryLine("or", f"silx view {first}\njupyter lab  # with jupyterlab-h5web: open {first}", code=True),
    ]


def facts_of_report(report: Mapping[str, Any]) -> SummaryFacts:
    """Return the facts of a report, the content of report.json."""
    run, rates = report["run"], report["rates"]
    vetoes: dict[str, int] = {}
    for buffer in report["buffers"]:
        for reason, count in buffer["vetoes"].items():
            vetoes[reason] = vetoes.get(reason, 0) + count
    return SummaryFacts(
        _verdict_of(report),
        bool(run["good"]),
        report["books"],
        rates["frames_per_s"],
        float(run["planned_rate_hz"] or 0.0),
        rates["payload_gb_per_s"],
        vetoes,
        tuple(_files_of(report)),
    )


def size_of(count: float) -> str:
    """Return a number of bytes as text with a unit."""
    value, unit = float(count), 0
    while value >= _THOUSAND and unit < len(_UNITS) - 1:
        value, unit = value / _THOUSAND, unit + 1
    return f"{value:,.0f} {_UNITS[unit]}" if not unit else f"{value:,.1f} {_UNITS[unit]}"


def _verdict_of(report: Mapping[str, Any]) -> str:
    run = report["run"]
    if run["good"]:
        return "The books balance; every image is as the emulator's log says."
    reasons = [*str(run["problem"]).splitlines(), *run["reasons"]]
    if not report["books"]["balanced"] and not run["reasons"]:
        reasons.append("the books do not balance")
    return "; ".join(reasons) or "interrupted"


def _files_of(report: Mapping[str, Any]) -> Sequence[StoredFile]:
    nodes = {receiver["name"]: receiver["node"] for receiver in report.get("receivers", ())}
    found = []
    for buffer in report["buffers"]:
        node = nodes.get(buffer.get("receiver", ""), "local")
        if buffer["file"]:
            place = "" if node == "local" else node
            found.append(StoredFile(buffer["file"], buffer["books"]["written"], buffer["bytes_stored"], place))
    return found


def _loss(books: Mapping[str, int]) -> SummaryLine:
    missing, partial, errored = (books.get(name, 0) for name in ("missing", "partial", "errored"))
    decided = books.get("complete", 0) + missing + partial
    if not missing + partial + errored:
        return SummaryLine("loss", f"none of {decided:,} images" if decided else "no image yet")
    said = [f"{missing:,} missing", f"{partial:,} partial"] + ([f"{errored:,} errored"] if errored else [])
    share = (missing + partial + errored) / max(1, decided)
    return SummaryLine("loss", f"{', '.join(said)} of {decided:,} images ({share:.2%})", "bad")


def _hits(books: Mapping[str, int], vetoes: Mapping[str, int]) -> SummaryLine:
    accepted = books.get("accepted", 0)
    arrived = accepted + books.get("vetoed", 0) + books.get("errored", 0)
    share = f" ({accepted / arrived:.1%})" if arrived else ""
    reasons = ", ".join(f"{reason.replace('_', ' ')} {count:,}" for reason, count in vetoes.items() if count)
    return SummaryLine(
        "hits", f"{accepted:,} of {arrived:,} images accepted{share}" + (f"; vetoed: {reasons}" if reasons else "")
    )


def _files(files: Sequence[StoredFile]) -> str:
    said = [
        f"{one.path} ({one.images:,} images, {size_of(one.bytes)}{f', on {one.place}' if one.place else ''})"
        for one in files[:_MOST_FILES]
    ]
    return ", ".join(said) + (f", and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else "")
