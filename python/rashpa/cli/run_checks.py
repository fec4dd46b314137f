# SPDX-License-Identifier: Apache-2.0
"""Holds all checks of a run before its nodes are asked, for `rashpa run`, `rashpa run --check` and `rashpa plan`."""

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from rashpa.cli.output_check import folder_trouble, output_problems
from rashpa.cli.report.report import PAGE_NEEDS, REPORT_FILES
from rashpa.control.plan.model import Plan

_TRIAL_S, _LAST_WORDS_S = 120.0, 1.0
_MOST_BYTES = 4 << 20  # of a trial's answer
_LONGEST = 2000  # of the words of a trial that ended


def problems_before(plan: Plan, report: Path | None = None, *, page: bool = False) -> Iterator[str]:
    """Yield a line for each problem of output or report that would end the run before any node is asked."""
    yield from output_problems(plan)
    if report is None:
        return
    if page and (lacking := [name for name in PAGE_NEEDS if not importlib.util.find_spec(name)]):
        yield f"report.html cannot be drawn without {', '.join(lacking)}; install what is missing, or take --no-page"
    if trouble := folder_trouble(report):
        yield f"--output {report}: {trouble}; choose another folder"
    elif plan.file.run.existing != "replace":
        for old in [report / name for name in REPORT_FILES if (report / name).exists()][:1]:
            yield f'{old} exists; move it, choose another --output, or set run.existing = "replace"'


def problems_of_nodes(plan: Plan) -> Iterator[str]:
    """Yield the problems that nodes of this machine would find in the files they load, as far as this can be known without a node. A process of its
    own loads them, since kernels may crash it."""
    if not any(node.node == "local" for node in plan.nodes) or importlib.util.find_spec("rashpa._native") is None:
        return
    command = [sys.executable, "-P", "-m", "rashpa.node.offline.trial", str(plan.source.path)]
    said, errors = bytearray(), bytearray()
    code = _carried_out(command, said, errors)
    if code is None:
        yield f"what local nodes load is not loaded after {_TRIAL_S:g} s; look at the code of kernels"
        return
    try:
        yield from json.loads(said)
    except ValueError:
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        last = errors.decode(errors="replace").strip().rpartition("\n")[2][-_LONGEST:]
        yield f"the process that loads what local nodes load ended ({how}{f': {last}' if last else ''}); look at the code of kernels"


def _carried_out(command: Sequence[str], said: bytearray, errors: bytearray) -> int | None:
    """Run the command and return its exit code, None when it did not end in time. Append the last part of its outputs to `said` and `errors`. Its
    children end with it."""
    pipe = subprocess.PIPE
    trial = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True)  # noqa: S603
    readers = [
        threading.Thread(target=_keep_end, args=(stream, kept), daemon=True)
        for stream, kept in ((trial.stdout, said), (trial.stderr, errors))
    ]
    for reader in readers:
        reader.start()
    try:
        return trial.wait(_TRIAL_S)
    except subprocess.TimeoutExpired:
        return None
    finally:
        for _ in range(2):  # before its children are ended, and after that
            for reader in readers if trial.returncode is not None else ():
                reader.join(_LAST_WORDS_S)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(trial.pid, signal.SIGKILL)
        trial.wait()


def _keep_end(stream: IO[bytes], kept: bytearray) -> None:
    """Read the stream to its end, and keep only the last part in `kept`."""
    with stream:
        while piece := os.read(stream.fileno(), 1 << 16):
            kept += piece
            del kept[:-_MOST_BYTES]
