# SPDX-License-Identifier: Apache-2.0
"""Checks that exit status, terminal, report and files agree with each other and with the truth."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import jsonschema
from tests.chaos.facts import Facts, Report
from tests.chaos.plan import STORAGE, Buffer, Plan
from tests.chaos.stored import BOOKS, ERRORED, Stored

GOOD, FAILED, REFUSED, UNTRUE, INTERRUPTED = 0, 1, 2, 3, 130
SCHEMA = Path(__file__).parents[2] / "schema" / "report.schema.json"
_EARLY = (
    -2,
    -15,
    1,
)  # a signal before Python could have a handler for it; 1: while it imported what every interpreter does


def allowed_exits(plan: Plan, facts: Facts) -> set[int]:
    """Return the exit statuses that the plan and the actual disturbance of the run can explain."""
    # Without credits a source does not wait: images whose slot is not free are lost, and no log of the emulator's explains them.
    usual = {GOOD} if plan.flow == "credits" else {GOOD, UNTRUE}
    done = plan.disturbance
    if not facts.effective:
        return usual
    if done.kind in ("kill", "replace_killed") and done.target == "manager":
        return {-9}
    if done.kind == "stop" and done.target == "manager":
        return {-9}  # the harness ends it
    if done.kind in ("interrupt", "terminate") and done.target == "manager":
        return {GOOD, UNTRUE, INTERRUPTED, *(_EARLY if facts.early else ())}
    if done.kind in ("slow_writes", "members", "still", "neighbours"):
        return usual
    if done.kind == "unheard":
        return {GOOD, FAILED}  # before the run has begun it cannot go on without a member
    if done.kind == "folder_removed":
        return {FAILED, UNTRUE}
    if done.kind == "port_taken":
        return {FAILED, REFUSED}
    # A disk that is full from the first file on is found before anything starts.
    return {GOOD, FAILED, UNTRUE} | ({REFUSED} if done.kind in STORAGE else set())


def check_report(plan: Plan, facts: Facts, stored: Mapping[str, Stored]) -> Iterator[str]:
    """Yield the contradictions."""
    allowed = allowed_exits(plan, facts)
    if facts.exit is not None and facts.exit not in allowed:
        yield f"exit status {facts.exit}; {', '.join(map(str, sorted(allowed)))} can be explained"
    if "Traceback (most recent call last)" in facts.said and not facts.early:
        yield "a traceback was printed"
    report = facts.report()
    if report is None:
        if facts.exit in (GOOD, UNTRUE):
            yield f"exit status {facts.exit} without a report that can be read"
        return
    try:
        jsonschema.validate(report, json.loads(SCHEMA.read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        yield f"report.json does not follow its schema: {error.message}"
        return
    yield from _check_sums(report)
    yield from _check_terminal(report, facts.said)
    yield from _check_status(facts, report)
    if plan.grouped:
        return
    for buffer in plan.buffers:
        known = next((one for one in report["buffers"] if one["name"] == buffer.name), None)
        if known is not None:
            yield from _check_buffer(plan, buffer, facts, known, stored[buffer.name])
        elif facts.exit in (GOOD, UNTRUE):
            yield f"the report of a finished run says nothing of buffer {buffer.name}"


def _check_sums(report: Report) -> Iterator[str]:
    for name in BOOKS:
        receivers = [one for one in report.get("receivers", []) if not one["lost"]]
        for whole, parts in (("all buffers", report["buffers"]), ("all receivers", receivers)):
            total = sum(part["books"][name] for part in parts)
            if total != report["books"][name]:
                yield f"{name} of {whole} is {total}, the report's total {report['books'][name]}"


def _check_status(facts: Facts, report: Report) -> Iterator[str]:
    run, books = report["run"], report["books"]
    unexplained = report["injected"]["unexplained"]
    if run["good"] != (facts.exit == GOOD):
        yield f"the report says good: {run['good']}, the exit status is {facts.exit}"
    if run["interrupted"] != (facts.exit == INTERRUPTED):
        yield f"the report says interrupted: {run['interrupted']}, the exit status is {facts.exit}"
    lost = books["errored"] > 0 or books["accepted"] != books["written"] or bool(unexplained)
    lost = lost or not books["balanced"]
    if run["good"] and (lost or unexplained is None or run["problem"]):
        yield f"good, although {books['errored']} images are errored, {books['accepted'] - books['written']} are not written, {unexplained} unexplained; problem: {run['problem']!r}"
    if facts.exit == UNTRUE and not lost:
        yield "exit status 3, and nothing in the report is errored, unwritten or unexplained"
    if facts.exit == FAILED and not run["problem"]:
        yield "exit status 1, and the report names no problem"


def _check_buffer(plan: Plan, buffer: Buffer, facts: Facts, known: Report, stored: Stored) -> Iterator[str]:
    books, where = known["books"], f"buffer {buffer.name}"
    decided = books["complete"] + books["partial"] + books["missing"]
    settled = books["accepted"] + books["vetoed"] + books["errored"]
    finished = facts.exit in (GOOD, UNTRUE)
    due = buffer.images(facts.frames)
    if finished and not (books["expected"] == due == decided):
        yield f"{where}: {due} images are due, {books['expected']} expected, {decided} complete, partial or missing"
    if finished and settled != books["complete"] + books["partial"]:
        yield f"{where}: {settled} images accepted, vetoed or errored of {books['complete'] + books['partial']}"
    if decided > due or settled > books["complete"] + books["partial"] or books["written"] > books["accepted"]:
        yield f"{where}: more images than there can be: {books}"
    if books["written"] > stored.count:
        yield f"{where}: {books['written']} written by the report, {stored.count} can be read from the files"
    if finished and books["written"] != stored.count:
        yield f"{where}: {books['written']} written by the report, {stored.count} images in the files"
    if sum(known.get("errors", {}).values()) != (books["errored"] if "errors" in known else 0):
        yield f"{where}: {books['errored']} errored images, their reasons are {known['errors']}"
    if finished and stored.closed and not stored.repaired and {name: books[name] for name in BOOKS} != stored.books:
        yield f"{where}: the report's books {books} are not the file's {stored.books}"
    if facts.exit == GOOD:
        yield from _check_good(plan, buffer, facts, known, stored)
    if stored.repaired and facts.exit == GOOD:
        yield f"{where}: exit status 0, but the master was never completed"
    # whichever of the files it names, or what their names begin with: where the folder is gone, the first that was missed
    if finished and not stored.closed and not re.search(rf"chaos_{buffer.name}\b|chaos_{buffer.name}_", facts.said):
        yield f"{where}: a finished run, but {stored.problem}, and nobody said so"


def _check_good(plan: Plan, buffer: Buffer, facts: Facts, known: Report, stored: Stored) -> Iterator[str]:
    books, where = known["books"], f"buffer {buffer.name}"
    if books["errored"] or books["accepted"] != books["written"] or known["sink_error"] or known["unit_error"]:
        yield f"{where}: exit status 0 with {books}, {known['sink_error']}{known['unit_error']}"
    if not stored.closed:
        yield f"{where}: exit status 0, but {stored.problem}"
    elif not stored.balanced or len(stored.tables["decision"]) != buffer.images(facts.frames):
        yield f"{where}: exit status 0, but the file has {len(stored.tables['decision'])} rows, balanced: {stored.balanced}"
    elif (stored.tables["decision"] == ERRORED).any():
        yield f"{where}: exit status 0, but the file has errored images"
    faultless = not plan.faults.lose and plan.on_full == "pause" and plan.flow == "credits"
    undisturbed = not facts.effective or plan.disturbance.kind in (*STORAGE, "still", "neighbours")
    if faultless and undisturbed and books["complete"] != books["expected"]:
        yield f"{where}: nothing was to be lost, and {books['partial']} are partial, {books['missing']} missing"


def _check_terminal(report: Report, said: str) -> Iterator[str]:
    """Check that the last column of the closing table is the total."""
    for name in BOOKS:
        rows = re.findall(rf"^[│|]\s*{name}\s*[│|](.*)[│|]\s*$", said, re.MULTILINE)
        if not rows:
            if report["buffers"]:
                yield f"the terminal says nothing of {name} images"
            return
        total = int(re.split("[│|]", rows[-1])[-1].strip().replace(",", ""))
        if total != report["books"][name]:
            yield f"the terminal says {total} {name} in all, the report {report['books'][name]}"
