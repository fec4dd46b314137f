# SPDX-License-Identifier: Apache-2.0
"""Runs `python -m tests.chaos`: many random runs, and at the end the number that passed."""

import argparse
import collections
import dataclasses
import json
import shutil
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.chaos.draw import KINDS, draw
from tests.chaos.run import Verdict, run_plan


def main() -> int:
    """Return 0 when every run passed, 1 when one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first run; the others follow it")
    parser.add_argument("--out", type=Path, default=Path("out/chaos"), help="folder of failed runs and results.json")
    parser.add_argument("--keep", action="store_true", help="keep the folders of runs that passed, too")
    parser.add_argument("--kind", choices=tuple(KINDS), help="what is done to every run; drawn for each when not given")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    choice = parser.parse_args()
    choice.out.mkdir(parents=True, exist_ok=True)
    out = choice.out.resolve()
    verdicts = []
    with ThreadPoolExecutor(choice.jobs) as pool:
        numbers = range(choice.first, choice.first + choice.runs)
        for verdict in pool.map(lambda number: _one(choice, number, out), numbers):
            verdicts.append(verdict)
            _write(out / "results.json", choice.seed, verdicts)
    print(_summary(verdicts), flush=True)
    return 1 if any(verdict.problems for verdict in verdicts) else 0


def _one(choice: argparse.Namespace, number: int, out: Path) -> Verdict:
    seed: int = choice.seed
    plan = draw(seed, number, choice.kind)
    folder = out / f"run-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        verdict = run_plan(plan, folder, choice.keep)
    except Exception:  # noqa: BLE001  (a fault of the harness is a failed run, and the next one is made)
        verdict = Verdict(plan, (f"the harness failed: {traceback.format_exc()}",))
    state = "skipped" if verdict.skipped else "FAILED" if verdict.problems else "passed"
    hit = "" if verdict.effective or plan.disturbance.kind == "none" else " (came too late)"
    ended = f"exit {verdict.exit}, {verdict.images} images, {verdict.seconds:.1f} s"
    print(f"run {number} seed {seed}: {state}: {plan.describe()}{hit}; {verdict.skipped or ended}", flush=True)
    for problem in verdict.problems:
        print(f"  {problem}", flush=True)
    if verdict.problems:
        kind = f" CHAOS_KIND={choice.kind}" if choice.kind else ""
        print(f"  again: make test-chaos RUNS=1 SEED={seed} FIRST={number}{kind}; its folder: {folder}", flush=True)
    return verdict


def _counts(verdicts: list[Verdict]) -> dict[str, dict[str, int]]:
    """Return the number of runs by kind of link and of disturbance."""
    made = [verdict for verdict in verdicts if not verdict.skipped]
    links = collections.Counter(f"roce/{one.plan.transport}" if one.plan.link == "roce" else "pcie" for one in made)
    kinds = collections.Counter(
        one.plan.disturbance.kind if one.effective or one.plan.disturbance.kind == "none" else "too late"
        for one in made
    )
    return {"links": dict(sorted(links.items())), "disturbances": dict(sorted(kinds.items()))}


def _summary(verdicts: list[Verdict]) -> str:
    counts = _counts(verdicts)
    lines = [f"{name}: {', '.join(f'{count} {one}' for one, count in table.items())}" for name, table in counts.items()]
    skipped = [verdict for verdict in verdicts if verdict.skipped]
    failed = [verdict for verdict in verdicts if verdict.problems]
    images = sum(verdict.images for verdict in verdicts)
    lines.append(f"{images} stored images were compared")
    ended = f"{len(verdicts) - len(failed) - len(skipped)} passed, {len(failed)} failed"
    reasons = ", ".join(sorted({verdict.skipped for verdict in skipped}))
    lines.append(f"{ended}, {len(skipped)} skipped ({reasons})" if skipped else ended)
    return "\n".join(lines)


def _write(path: Path, seed: int, verdicts: list[Verdict]) -> None:
    runs = [
        {**dataclasses.asdict(verdict), "plan": dataclasses.asdict(verdict.plan), "what": verdict.plan.describe()}
        for verdict in verdicts
    ]
    path.write_text(json.dumps({"seed": seed, **_counts(verdicts), "runs": runs}, indent=1) + "\n", encoding="utf-8")


sys.exit(main())
