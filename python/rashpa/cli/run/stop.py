# SPDX-License-Identifier: Apache-2.0
"""`rashpa stop`: ends a run in order at its present frame, from any machine that can read its output folder."""

import asyncio
import contextlib
import getpass
import os
import socket
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rashpa.cli.run.run import conclude, watched
from rashpa.cli.teller import AsJson, Teller
from rashpa.control.handover.journal import Journal, JournalError, ManagerLivesError, find_journal
from rashpa.control.handover.stop_request import StopError, StopRequest
from rashpa.control.run.attach import attached
from rashpa.control.run.end import never_early
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.data.base.exit_code import ExitCode


def stop(
    where: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="Output folder of the run, or the journal in it (…_attach.json).", show_default=False
        ),
    ],
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=1.0, help="Seconds to wait for the end of the run; files may take long.")
    ] = 600.0,
    as_json: AsJson = False,
) -> None:
    """End a run in order at the next frame at which all emulators can end: images up to it are in books and files.

    It works for open-ended runs, and for runs with a number of frames. The run ends with its regular exit code. When its manager has died, this
    command takes the run over and ends it, as `rashpa attach` would.
    """
    errors = Console(stderr=True)
    console = Console(quiet=as_json)
    try:
        path = find_journal(where)
        journal = Journal(path)
        try:
            manager = attached(journal, token=token_of_environment())
        except ManagerLivesError:
            raise typer.Exit(_asked(path, timeout_s, Teller("stop", as_json))) from None
        if why := never_early(manager.plan):
            journal.close()
            raise StopError(f"{path}: {why}")
    except (JournalError, StopError, RunFileError, TokenError, OSError) as error:
        Teller("stop", as_json).refuse(str(error))
    manager.end(who())
    outcome = asyncio.run(watched(manager, console, quiet=True))
    report = Path(journal.report) if journal.report else None
    conclude(outcome, report, manager.plan.source.path, errors, console, "stop", as_json=as_json)


def _asked(path: Path, timeout_s: float, tell: Teller) -> int:
    """Ask the manager to end the run; return the exit code. Raise StopError when the run does not end."""
    request = StopRequest(path, who())
    try:
        answer = request.wait(timeout_s)
    finally:
        request.close()
    if answer.refused:
        raise StopError(f"{path}: {answer.refused}")
    of = f" of {answer.planned}" if answer.planned else ""
    books = "balanced" if answer.balanced else "NOT balanced"
    names = ("frames", "planned", "balanced", "expected", "complete", "written", "problem")
    tell.answer(
        f"ended after {answer.frames}{of} frames; books {books}: {answer.expected} images expected, {answer.complete} complete, "
        f"{answer.written} written",
        **{name: getattr(answer, name) for name in names},
        reasons=list(answer.reasons),
    )
    for line in (*answer.problem.splitlines(), *answer.reasons):
        tell.complain(line)
    if answer.problem:
        return ExitCode.FAILED
    return ExitCode.GOOD if answer.good else ExitCode.NOT_WHOLE


def who() -> str:
    """Return the user that sends the order, as text: name, machine and process."""
    user = str(os.getuid())
    with contextlib.suppress(KeyError, OSError):  # a process without an entry in the table of users
        user = getpass.getuser()
    return f"{user}@{socket.gethostname()} (process {os.getpid()})"
