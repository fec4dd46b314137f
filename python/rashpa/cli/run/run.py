# SPDX-License-Identifier: Apache-2.0
"""`rashpa run FILE`: carries out a run, shows it, and reports at the end whether the books balance."""

import asyncio
import errno
import functools
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from rashpa.cli.completion import run_files_and_commands
from rashpa.cli.plan.plan import group_lines
from rashpa.cli.report.begun_pictures import BegunPictures
from rashpa.cli.report.report import get_ready, report_of, write_report
from rashpa.cli.run.run_display import RunDisplay, print_outcome
from rashpa.cli.run_checks import problems_before, problems_of_nodes
from rashpa.cli.teller import AsJson, Teller
from rashpa.cli.ways_to_images import ways_to_images
from rashpa.control.books.outcome import Outcome
from rashpa.control.capacity.capacity import cautions
from rashpa.control.capacity.plan_summary import json_of, summary_of
from rashpa.control.handover.journal import JournalError, journal_of
from rashpa.control.nodes.launcher import LauncherError, launcher_of
from rashpa.control.nodes.local_node import local_command
from rashpa.control.plan.checks.calibration_warnings import calibration_warnings
from rashpa.control.plan.model import Plan, images_of
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.base.telling import only_tells, troubles
from rashpa.data.files.regular_file import reason

_MOST_ASKED = 2
_END_S = 1.8
_NO_REPORT = "no report was written; give `rashpa run` --output FOLDER for report.json and report.html"


_File = Annotated[
    Path,
    typer.Argument(
        help="Run file (TOML); examples/ has some.", show_default=False, autocompletion=run_files_and_commands
    ),
]
_Report = Annotated[Path | None, typer.Option("--output", "-o", help="Folder for report.json and report.html.")]
_Page = Annotated[
    bool,
    typer.Option(
        "--page/--no-page", help="report.html; without it a report costs nearly nothing: for many short runs."
    ),
]
_Check = Annotated[
    bool, typer.Option("--check", help="Check the file and the files that local nodes load; show the plan.")
]
_Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress, neither bar nor lines; the closing tables stay.")
]
_Force = Annotated[
    bool,
    typer.Option("--force", help="Try what is too much for links, memory or units; the report says what was forced."),
]
_Launcher = Annotated[
    Literal["local", "slurm"],
    typer.Option(help="Launcher of the nodes that have no URL: this machine, or Slurm, each as a job step by srun."),
]
_LauncherOptions = Annotated[
    str,
    typer.Option(
        metavar="WORDS",
        help="Options for srun, of all nodes: --launcher-options '--partition=daq --time=60'. Those of one node stand in the run file: launch.",
    ),
]
_LauncherWait = Annotated[
    float,
    typer.Option(
        "--timeout", min=1.0, help="Slurm: seconds that a node may wait for its machine before the run is given up."
    ),
]


def run(
    file: _File,
    report: _Report = None,
    page: _Page = True,
    check: _Check = False,
    quiet: _Quiet = False,
    force: _Force = False,
    launcher: _Launcher = "local",
    launcher_options: _LauncherOptions = "",
    launcher_wait: _LauncherWait = 300.0,
    as_json: AsJson = False,
) -> None:
    """Carry a run through: start or reach its nodes, configure, acquire, and close the books."""
    errors = Console(stderr=True)
    try:
        plan = _checked_plan(file, report, page, check and launcher == "local")
        token = token_of_environment()
        journal = journal_of(plan, report)
        by = launcher_of(launcher, launcher_options, launcher_wait, local_command)
    except (RunFileError, TokenError, JournalError, LauncherError, OSError) as error:
        Teller("run", as_json).refuse(str(error))
    for text in (*cautions(plan), *calibration_warnings(plan, datetime.now(UTC))):
        errors.print(f"caution: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    console = Console(quiet=as_json)
    if check:
        if as_json:
            sys.stdout.write(f"{json.dumps(json_of(summary_of(plan, {})))}\n")
        _print_plan(console, plan)
        return
    try:
        manager = Manager(plan, token=token, force=force, journal=journal, launcher=by)
        if report is not None:
            manager.prepare(functools.partial(get_ready, page))
        outcome = asyncio.run(watched(manager, console, quiet or as_json))
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        Teller("run", as_json).fail(
            f"{error.strerror}: a run needs some of its own and 128 for each node; raise `ulimit -n`"
        )
    conclude(outcome, report, file, errors, console, page=page and not manager.hurried, as_json=as_json)


def conclude(
    outcome: Outcome,
    report: Path | None,
    file: Path,
    errors: Console,
    console: Console,
    command: str = "run",
    page: bool = True,
    as_json: bool = False,
) -> None:
    """Show the outcome of a run, write its report, and end with its exit code. An error of the display neither prevents the report nor changes the code."""
    said: list[str] = []
    begun = BegunPictures(outcome) if page and report is not None and not outcome.refused else None
    with only_tells("the closing tables", said.append):
        _tell(outcome, errors, console, command)
    outcome.cautions += (*said, *troubles())
    written = _Written()
    if report is not None and not outcome.refused:
        written = _write_report(outcome, report, file, page, begun)
    for path in written.paths:
        console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)
    if report is None and not outcome.refused:
        console.print(_NO_REPORT, markup=False, highlight=False, soft_wrap=True)
    with only_tells("where the images are", said.append):
        for line in ways_to_images(outcome):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for text in (*said, *written.cautions):
        errors.print(f"caution: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if written.trouble:
        complain(errors, f"the report cannot be written: {written.trouble}", command)
    if as_json:
        sys.stdout.write(f"{json.dumps(_document(outcome, file, command, written.paths))}\n")
        sys.stdout.flush()
    raise typer.Exit(exit_code(outcome) or (ExitCode.FAILED if written.trouble else ExitCode.GOOD))


def _document(outcome: Outcome, file: Path, command: str, written: Sequence[Path]) -> dict[str, Any]:
    """Return the result of a run for programs; `report` is report.json (schema/report.schema.json), None when the run did not begin."""
    stored = [buffer.file for buffer in outcome.buffers if buffer.file]
    return {
        "command": command,
        "files": [*map(str, written), *stored],
        "books": None,
        "problem": outcome.problem,
        "report": None if outcome.refused else report_of(outcome, file),
    }


def _tell(outcome: Outcome, errors: Console, console: Console, command: str) -> None:
    """Print the outcome of a run as tables and lines."""
    for text in outcome.all_cautions:
        errors.print(f"caution: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if outcome.problem:
        complain(errors, outcome.problem, command)
    if outcome.buffers and not outcome.refused:  # a run that never began has no books
        print_outcome(console, outcome)
        for reason in outcome.reasons:
            complain(errors, reason, command)
        files = [buffer.file for buffer in outcome.buffers if buffer.file]
        if (
            outcome.accounts and files and (len(files) > 1 or outcome.lost)
        ):  # the run has its end, and files are its result
            _combine(outcome, errors, console)


def _checked_plan(file: Path, report: Path | None, page: bool, nodes_too: bool) -> Plan:
    """Return the plan. Raise RunFileError for all faults that can be found without a node and, with `nodes_too`, for faults that nodes of this
    machine would find."""
    plan = load_plan(file)
    problems = list(problems_before(plan, report, page=page))
    if nodes_too and not problems:
        problems += problems_of_nodes(plan)
    if problems:
        raise RunFileError("\n".join(problems))
    return plan


def _combine(outcome: Outcome, errors: Console, console: Console) -> None:
    """Combine the files of a run into one master. When this fails, print the reason and leave the files as they are."""
    from rashpa.cli.files.combine import combine_run  # with HDF5, which no run waits for before it begins
    from rashpa.data.parts.run_parts import StoredRunError

    try:
        if (combined := combine_run(outcome)) is not None:
            console.print(f"wrote {combined}: leads to all files", markup=False, highlight=False, soft_wrap=True)
    except StoredRunError as error:
        errors.print(f"caution: {error}", style="yellow", markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class _Written:
    """Holds the files of a report. `trouble`: the reason why there is none; `cautions`: the parts that it lacks."""

    paths: tuple[Path, ...] = ()
    trouble: str = ""
    cautions: tuple[str, ...] = ()


def _write_report(outcome: Outcome, folder: Path, file: Path, page: bool, begun: BegunPictures | None) -> _Written:
    known = len(outcome.cautions)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = write_report(outcome, folder, file, page, begun)
    except OSError as error:
        return _Written((), f"{error.filename or folder}: {reason(error)}", outcome.cautions[known:])
    return _Written(paths, "", outcome.cautions[known:])


def exit_code(outcome: Outcome) -> int:
    """Return the exit code, 0 only when every image of the run is stored or its absence is explained."""
    if outcome.good:
        return ExitCode.GOOD
    if outcome.interrupted:
        return ExitCode.INTERRUPTED
    if outcome.refused:
        return ExitCode.BAD_INPUT
    # without the tables of all nodes the run has not come to its end
    return ExitCode.FAILED if outcome.problem or not outcome.accounts else ExitCode.NOT_WHOLE


def end_within(seconds: float, code: int) -> None:
    """End this process after `seconds`, unless it has ended before."""
    timer = threading.Timer(seconds, os._exit, args=(code,))
    timer.daemon = True
    timer.start()


async def watched(manager: Manager, console: Console, quiet: bool) -> Outcome:
    """Carry out the run and show its progress; Ctrl-C ends it in order."""
    with RunDisplay(console, manager.plan, quiet) as display:
        manager.observe(display.show)
        loop, asked = asyncio.get_running_loop(), 0

        def stop() -> None:
            nonlocal asked
            asked += 1
            if asked == _MOST_ASKED:  # whatever still stands then: a second interrupt ends the patience
                end_within(_END_S, ExitCode.INTERRUPTED)
            manager.stop()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        return await manager.run()


def complain(errors: Console, text: str, command: str = "run") -> None:
    """Print each line in red on standard error."""
    for line in text.splitlines():
        errors.print(f"rashpa {command}: {line}", style="red", markup=False, highlight=False, soft_wrap=True)


def _print_plan(console: Console, plan: Plan) -> None:
    shown = plan.shown_receivers
    for emulator in plan.emulators:
        if emulator.shown_name:
            console.print(
                f"{emulator.label}: node {emulator.node}, address {emulator.address}, modules {', '.join(map(str, emulator.modules))}, "
                f"{len(plan.dtps_from(emulator.name))} DTPs",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    for receiver in plan.receivers:
        if receiver.shown_name:
            console.print(
                f"{receiver.label}: node {receiver.node}, address {receiver.address}, "
                f"{len(plan.buffers_of(receiver.name))} buffers, {len(plan.dtps_of(receiver.name))} DTPs",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    for line in group_lines(plan):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for buffer in plan.buffers:
        at = f" at {shown[buffer.section.name]}" if shown[buffer.section.name] else ""
        console.print(
            f"buffer {buffer.section.name}{at}: {images_of(plan, buffer)} images of {buffer.width} × {buffer.height} pixels, "
            f"{len(buffer.dtps)} DTPs, {buffer.section.slots} slots in stacks of {buffer.section.stack}",
            highlight=False,
        )
        for dtp in buffer.dtps:
            console.print(
                f"  DTP {dtp.id}: module {dtp.module} {dtp.shown_region} → {dtp.target}", markup=False, highlight=False
            )
