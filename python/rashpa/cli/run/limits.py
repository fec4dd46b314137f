# SPDX-License-Identifier: Apache-2.0
"""`rashpa limits`: changes the limits of a veto in a run that goes on."""

from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.run.stop import who
from rashpa.cli.teller import AsJson, Teller
from rashpa.control.handover.journal import JournalError, find_journal
from rashpa.control.handover.limits_request import Limits, set_limits
from rashpa.control.orders.limit_values import LimitsError


def limits(
    where: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="Output folder of the run, or the journal in it (…_attach.json).", show_default=False
        ),
    ],
    step: Annotated[
        str,
        typer.Argument(help="The veto: its reason, the name of its kernel, or its number in the list from 0."),
    ],
    values: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE…", help="The limits, as in the run file: min_pixels=40, or keep='n_peaks >= 20'."
        ),
    ],
    buffer: Annotated[
        str, typer.Option(help="The buffer, by its name in the run file; not needed where the run has one.")
    ] = "",
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=1.0, help="Seconds to wait for the answer of the manager.")
    ] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Give a veto other limits while its run goes on, from the next stack on. The answer names the first image that has them; file and report record
    it.

    Allowed values and error messages are the same as in the run file. All receivers of a group get the limits, with any unit.
    """
    tell = Teller("limits", as_json)
    pairs = dict(value.partition("=")[::2] for value in values)
    if wrong := next((value for value in values if "=" not in value), ""):
        tell.refuse(f"{wrong}: is no limit; give KEY=VALUE, such as min_pixels=40")
    try:
        said = set_limits(find_journal(where), Limits(step, pairs, buffer, who()), timeout_s)
    except (JournalError, LimitsError, OSError) as error:
        tell.refuse(str(error))
    tell.answer(said)
