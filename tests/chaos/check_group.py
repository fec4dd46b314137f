# SPDX-License-Identifier: Apache-2.0
"""Checks a group: every frame is stored by a member, with every pixel right, and the report names the member."""

from collections.abc import Iterator, Mapping

import numpy as np
from tests.chaos.check_images import Pixels, lost_pixels
from tests.chaos.check_report import FAILED, GOOD
from tests.chaos.facts import Facts, Report
from tests.chaos.plan import Plan
from tests.chaos.stored import COMPLETE, PARTIAL, Stored


def check_group(plan: Plan, facts: Facts, stored: Mapping[str, Stored]) -> Iterator[str]:
    """Yield the faults. `stored`: by buffer of a member."""
    if facts.exit == FAILED and plan.disturbance.kind == "unheard":
        yield from _check_given_up(facts)
        return
    if facts.exit != GOOD:
        yield f"exit status {facts.exit}: a member survived, and the window was open"
    found: dict[int, int] = {}
    for name, one in stored.items():
        yield from _check_member(plan, name, one, found)
    report = facts.report()
    if report is None:
        yield "there is no report"
        return
    yield from _check_books(plan, facts, report, found)


def _check_given_up(facts: Facts) -> Iterator[str]:
    """Check that the report names killed members; for a run that had begun it also has the group."""
    report = facts.report()
    if report is None:
        yield "there is no report"
        return
    if not any(name in report["run"]["problem"] for name in facts.struck):
        yield f"{facts.struck} was killed, the report says {report['run']['problem']!r}"
    if report["run"]["acquisition_s"] > 0 and not report["groups"]:
        yield "the run had begun, and the report has no group"


def _check_member(plan: Plan, name: str, stored: Stored, found: dict[int, int]) -> Iterator[str]:
    """Check a member: its rows are frames of the run, and each image is the frame in its row. Add the best copy of each frame to `found`."""
    if not stored.closed:
        return
    buffer, tables = plan.buffers[0], stored.tables
    frames, completeness = tables["frame_number"].astype(np.int64), tables["completeness"]
    there = np.isin(completeness, (COMPLETE, PARTIAL))
    strange = (frames[there] % buffer.every != buffer.phase) | (frames[there] >= plan.frames)
    if strange.any():
        yield f"{name}: a row has frame {frames[there][strange][0]}, which was never due"
        return
    checker = Pixels(plan, buffer)
    for row in np.flatnonzero(there).tolist():
        place = int(tables["stored_index"][row])
        if not 0 <= place < stored.count:
            yield f"{name}: frame {frames[row]} has no image"
            return
        lost, _ = lost_pixels(buffer, stored, row)
        problems = [text for _, text in checker.check(stored, row, place, lost)]
        if problems:
            yield f"{name}: {problems[0]}"
            return
        state = int(completeness[row])
        found[int(frames[row])] = min(state, found.get(int(frames[row]), state))


def _check_books(plan: Plan, facts: Facts, report: Report, found: Mapping[int, int]) -> Iterator[str]:
    due = plan.buffers[0].images(plan.frames)
    (group,) = report["groups"]
    if group["images"] != due or group["complete"] + group["partial"] + group["missing"] != due:
        yield f"{due} images are due; the group's books say {group['images']} images: {group}"
    if group["left_window"] or group["skipped"] or report["injected"]["unexplained"]:
        yield f"{group['left_window']} images left the window, {group['skipped']} skipped, {report['injected']['unexplained']} unexplained"
    if not plan.faults.lose and group["complete"] != due:
        yield f"nothing was to be lost: {group['complete']} of {due} images are complete"
    # who was killed has files that `rashpa repair` reads, and images count that it was done with
    best = {COMPLETE: group["complete"], PARTIAL: group["partial"]}
    have = {state: sum(one == state for one in found.values()) for state in best}
    if have[COMPLETE] + have[PARTIAL] < best[COMPLETE] + best[PARTIAL] or (not facts.struck and have != best):
        yield f"the group's books say {best[COMPLETE]} complete and {best[PARTIAL]} partial, the files have {have[COMPLETE]} and {have[PARTIAL]}"
    members = {member["name"]: member for member in group["members"]}
    for name in facts.struck:
        if members[name]["lost"] is None and facts.exit != FAILED:
            known = members[name]
            if known["dealt"] > known["complete"] + known["partial"]:
                yield f"{name} was killed, had open images, and the report does not say that it was lost"
    for member in group["members"]:
        if member["lost"] is not None and not any(
            f"without {member['name']} " in line for line in report["run"]["cautions"]
        ):
            yield f"{member['name']} was lost, and no caution says so"
    if facts.joined and members.get("joiner", {}).get("joined_s") is None:
        yield "a receiver has joined, and the report does not know it"
