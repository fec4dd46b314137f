# SPDX-License-Identifier: Apache-2.0
"""`rashpa attach`: takes over a run whose manager has died."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rashpa.cli.output_check import folder_trouble
from rashpa.cli.run.run import conclude, watched
from rashpa.cli.teller import AsJson, Teller
from rashpa.control.handover.journal import Journal, JournalError, find_journal
from rashpa.control.run.attach import attached
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.token import TokenError, token_of_environment


def attach(
    where: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="Output folder of the run, or the journal in it (…_attach.json).", show_default=False
        ),
    ],
    report: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for report.json and report.html; the one of `rashpa run` when not given."
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, neither bar nor lines; the closing tables stay.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take over a run whose manager has died: watch it to its end, close the books, write its report.

    Nodes that stay up wait for their lease (10 s) and then act as run.orphaned of the run file says. With "finish" they continue the run and keep the
    books for run.keep_books_s.
    """
    errors = Console(stderr=True)
    console = Console(quiet=as_json)
    try:
        token = token_of_environment()
        journal = Journal(find_journal(where), str(report.resolve()) if report is not None else "")
        if report is not None and (trouble := folder_trouble(report)):
            raise JournalError(f"--output {report}: {trouble}; choose another folder")
        manager = attached(journal, token=token)
    except (JournalError, RunFileError, TokenError, OSError) as error:
        Teller("attach", as_json).refuse(str(error))
    plan = manager.plan
    outcome = asyncio.run(watched(manager, console, quiet or as_json))
    folder = Path(journal.report) if journal.report else None
    conclude(outcome, folder, plan.source.path, errors, console, "attach", page=not manager.hurried, as_json=as_json)
