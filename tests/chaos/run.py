# SPDX-License-Identifier: Apache-2.0
"""Runs one plan completely: preparations, the run, all checks, and the next run in the same folder."""

import dataclasses
import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.check_group import check_group
from tests.chaos.check_images import check_buffer
from tests.chaos.check_report import check_report
from tests.chaos.disturb import RASHPA, SmallDisk, taken_port
from tests.chaos.execute import Stage, carry_through, leftovers, make_stage
from tests.chaos.facts import Facts
from tests.chaos.pairs import play_pair
from tests.chaos.plan import Disturbance, Faults, Plan
from tests.chaos.processes import end_all, marked, wait_until
from tests.chaos.run_file import buffers_of
from tests.chaos.stored import Stored, read

_NEXT_FRAMES = 30
_LEAVE_S = 10.0  # what nodes have started for themselves ends behind them
_FREE_AGAIN_S = 60.0  # until a node that lost its manager takes the next one's orders


@dataclass(frozen=True)
class Verdict:
    """Holds the result. `problems`: empty when all is well; `skipped`: the reason why the run is not possible here."""

    plan: Plan
    problems: tuple[str, ...] = ()
    skipped: str = ""
    exit: int | None = None
    effective: bool = False
    images: int = 0  # that were compared
    seconds: float = 0.0


def run_plan(plan: Plan, folder: Path, keep: bool = False) -> Verdict:
    """Carry out the run in `folder`, which must not exist, and remove the folder when all is well."""
    stage = make_stage(plan, folder)
    disk = SmallDisk(stage.output, plan.disturbance.amount) if plan.disturbance.kind == "disk_full" else None
    try:
        if disk is not None and not disk.mounted:
            verdict = Verdict(plan, skipped="a tmpfs cannot be mounted here")
        else:
            verdict = _run(stage, disk)
    finally:
        for node in stage.nodes.values():
            if node.poll() is None:
                node.kill()
            node.wait()
        wait_until(lambda: not marked(stage.mark), _LEAVE_S)
        left = end_all(stage.mark)
        if disk is not None:
            disk.close()
    if left:
        problems = (*verdict.problems, *(f"process left at the end: {text}" for text in left))
        verdict = dataclasses.replace(verdict, problems=problems)
    if not verdict.problems and not keep:
        shutil.rmtree(folder)
    return verdict


def check(plan: Plan, facts: Facts) -> tuple[list[str], dict[str, Stored]]:
    """Run all checks on the files and the terminal output of a run; return the faults, and the stored images by buffer."""
    stored = {name: read(facts.output, name) for name in buffers_of(plan)}
    if facts.effective and any(not one.closed for one in stored.values()):
        stored = _repaired(facts, stored)
    problems = [*facts.problems]
    if plan.grouped:
        return [*problems, *check_group(plan, facts, stored), *check_report(plan, facts, stored)], stored
    untouched = facts.exit == 2 or plan.disturbance.kind == "folder_removed"
    for buffer in plan.buffers:
        one = stored[buffer.name]
        if one.closed or not untouched:
            problems += check_buffer(plan, buffer, one)
    problems += check_report(plan, facts, stored)
    return problems, stored


def _repaired(facts: Facts, stored: dict[str, Stored]) -> dict[str, Stored]:
    """Return the result of `rashpa repair` for masters that were never closed, in a copy, because the next run must find the folder unchanged."""
    copy = facts.folder / "repaired"
    shutil.rmtree(copy, ignore_errors=True)
    if not facts.output.is_dir():
        return stored
    shutil.copytree(facts.output, copy)
    result = dict(stored)
    for name, one in stored.items():
        if one.closed:
            continue
        command = [str(RASHPA), "repair", str(copy / f"chaos_{name}_master.h5")]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_FREE_AGAIN_S)
        with (facts.folder / "repair.log").open("a", encoding="utf-8") as log:
            log.write(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
        if done.returncode in (0, 3):  # 3: it lacks images, as a file that was never closed may
            result[name] = dataclasses.replace(read(copy, name), repaired=True)
    return result


def _run(stage: Stage, disk: SmallDisk | None) -> Verdict:
    plan = stage.plan
    if plan.disturbance.kind == "pairs":
        problems, images = play_pair(stage)
        return Verdict(plan, tuple(problems), effective=True, images=images)
    problems = stage.start_nodes()
    if problems:
        return Verdict(plan, tuple(problems))
    existing, number, old = "refuse", 1, {}
    if plan.disturbance.kind == "replace_killed":
        problems += _plain_run(stage, "refuse", 1, "the run before")
        existing, number, old = "replace", 2, _contents(stage.output)
    holder = taken_port(stage.ports["receiver"]) if plan.disturbance.kind == "port_taken" else None
    facts = carry_through(stage, plan, existing, number)
    if holder is not None:
        holder.close()
    (stage.folder / "facts.txt").write_text(f"{facts.exit} {facts.effective} {facts.early} {facts.seconds:.1f} s\n")
    problems += leftovers(stage)
    images = 0
    if not (plan.disturbance.kind == "replace_killed" and _still_there(old, stage.output)):
        found, stored = check(plan, facts)
        problems += found
        images = sum(one.count for one in stored.values())
        if plan.disturbance.kind == "replace_killed" and not images and not _begun(plan, old, stage.output):
            problems.append("the earlier files are gone, and the new run has not begun")
    if facts.effective and not problems:
        if disk is not None:
            disk.grow()
        problems += stage.start_nodes()
        problems += _plain_run(stage, "replace", number + 1, "the next run")
        problems += _strangers(plan, stage.output)
        problems += leftovers(stage)
    problems += stage.end_nodes()
    return Verdict(plan, tuple(problems), "", facts.exit, facts.effective, images, facts.seconds)


def _plain_run(stage: Stage, existing: str, number: int, what: str) -> list[str]:
    """Carry out a short run of the same plan without disturbance, which must be good; retry on a node that is being freed."""
    plan = dataclasses.replace(
        stage.plan,
        frames=_NEXT_FRAMES,
        rate_hz=0.0,
        flow="credits",
        on_full="pause",
        faults=Faults(),
        disturbance=Disturbance(),
        blows=(),
        stills=(),
    )
    facts = carry_through(stage, plan, existing, number)
    if stage.plan.nodes != "local" and facts.exit != 0:

        def works() -> bool:
            nonlocal facts
            facts = carry_through(stage, plan, existing, number)
            return facts.exit is None or facts.exit == 0

        wait_until(works, _FREE_AGAIN_S)
    problems, _ = check(plan, facts)
    if facts.exit == 0:
        return [f"{what}: {problem}" for problem in problems]
    return [f"{what} fails, see run{number}.log", *(f"{what}: {problem}" for problem in problems)]


def _contents(folder: Path) -> dict[str, str]:
    """Return the digests of files, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def _still_there(old: dict[str, str], folder: Path) -> bool:
    """Return True when every earlier file still exists, under any name."""
    return set(old.values()) <= set(_contents(folder).values())


def _begun(plan: Plan, old: dict[str, str], folder: Path) -> bool:
    """Return True when every buffer has a new master: masters get their names when the run begins."""
    now = _contents(folder)
    return all(now.get(f"chaos_{buffer.name}_master.h5", "") not in ("", *old.values()) for buffer in plan.buffers)


def _strangers(plan: Plan, folder: Path) -> list[str]:
    """Return the files that a finished run does not explain."""
    buffers = "|".join(buffers_of(plan))
    # the last one leads to the others
    known = re.compile(rf"chaos_({buffers})_(master|data_\d{{6}})\.h5|chaos_master\.h5")
    strangers = sorted(path.name for path in folder.iterdir() if not known.fullmatch(path.name))
    return [f"left in the output folder: {', '.join(strangers)}"] if strangers else []
