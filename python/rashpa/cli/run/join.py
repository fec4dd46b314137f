# SPDX-License-Identifier: Apache-2.0
"""`rashpa join`: adds a receiver to a group of a run that goes on."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rashpa.cli.teller import AsJson, Teller
from rashpa.control.handover.join_request import ask_to_join
from rashpa.control.handover.journal import JournalError, find_journal, journal_lives
from rashpa.control.plan.groups import Joined


def join(
    where: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="Output folder of the run, or the journal in it (…_attach.json).", show_default=False
        ),
    ],
    name: Annotated[str, typer.Argument(help="Name of the receiver in reports and files.", show_default=False)],
    group: Annotated[str, typer.Option(help="The group; not needed where the run has one.")] = "",
    node: Annotated[
        str, typer.Option(help='URL of a running receiver; "local": the run starts it on its machine.')
    ] = "local",
    address: Annotated[
        str, typer.Option(help="Address at which it takes packets; that of the group's first member when not given.")
    ] = "",
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="UDP port, 0 for any; that of the group's first member when not given."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="Threads of its link; as many as the group's first member has when not given."
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=1.0, max=3600.0, help="Longest time until it takes part, in seconds.")
    ] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Add a receiver to a group of a run that goes on. It has the group's buffer, kernels and sinks, files of its own, and its share of the images from then on.

    Run this command as the same user, on the machine of the run's manager or where its output folder is.
    """
    given: dict[str, Any] = {"address": address or None, "port": port, "threads": threads}
    receiver = {"name": name, "node": node, **{key: value for key, value in given.items() if value is not None}}
    tell = Teller("join", as_json)
    try:
        journal = find_journal(where)
        if not journal_lives(journal):
            raise JournalError(
                f"{journal}: no manager is at it; take the run over with `rashpa attach`, unless it has ended"
            )
        answer = ask_to_join(journal, Joined(group, receiver), timeout)
    except JournalError as error:
        tell.refuse(str(error))
    if answer.trouble:
        tell.fail(answer.trouble)
    tell.answer(answer.text)
