# SPDX-License-Identifier: Apache-2.0
"""Everything that can be wrong with a run before its nodes are asked: what `rashpa run`, `rashpa run --check` and `rashpa plan` check, and how far."""

import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rashpa.cli.output_check import folder_trouble, output_problems
from rashpa.cli.report.report import PAGE_NEEDS, REPORT_FILES
from rashpa.control.plan.run_plan import Plan

_TRIAL_S = 120.0
_LONGEST = 2000  # of what a trial that ended says


def problems_before(plan: Plan, report: Path | None = None, *, page: bool = False) -> Iterator[str]:
    """What would end the run before a node is asked, a line each: its output, its report."""
    yield from output_problems(plan)
    if report is None:
        return
    if page and (lacking := [name for name in PAGE_NEEDS if not importlib.util.find_spec(name)]):
        yield f"report.html cannot be drawn without {', '.join(lacking)}; install what is missing, or take --no-page"
    if trouble := folder_trouble(report):
        yield f"--report {report}: {trouble}; choose another folder"
    elif plan.file.run.existing != "replace":
        for old in [report / name for name in REPORT_FILES if (report / name).exists()][:1]:
            yield f'{old} exists; move it, choose another --report, or set run.existing = "replace"'


def problems_of_nodes(plan: Plan) -> Iterator[str]:
    """What nodes that the run starts on this machine would refuse, as far as it needs none of them: what they load, and what they make of it. It is found by a
    process of its own, since kernels may do anything."""
    if not any(node.node == "local" for node in plan.nodes) or importlib.util.find_spec("rashpa._native") is None:
        return
    command = [sys.executable, "-P", "-m", "rashpa.node.offline.trial", str(plan.source.path)]
    trial = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603
    try:
        said, errors = trial.communicate(timeout=_TRIAL_S)
    except subprocess.TimeoutExpired:
        yield f"what local nodes load is not loaded after {_TRIAL_S:g} s; look at the code of kernels"
        return
    finally:
        trial.kill()
        trial.communicate()
    try:
        yield from json.loads(said)
    except ValueError:
        code = trial.returncode
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        last = errors.decode(errors="replace").strip().rpartition("\n")[2][:_LONGEST]
        yield f"the process that loads what local nodes load ended ({how}{f': {last}' if last else ''}); look at the code of kernels"
