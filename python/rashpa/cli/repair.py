# SPDX-License-Identifier: Apache-2.0
"""`rashpa repair RUN`: completes a master file whose receiver could not."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rashpa.data.repair import repair_run
from rashpa.data.run_parts import RunFileError

_BAD_INPUT = 2


def repair(
    run: Annotated[Path, typer.Argument(help="The _master.h5 file of the run, or what its name begins with.")],
) -> None:
    """Complete the master file of a run whose receiver was killed, or had no room for it.

    Tables, links and books are made from the journal beside it and from what the data files hold. Nothing is invented: an image of which
    nothing is known stays open and undecided in the tables, and one that its data file does not hold is errored.
    """
    try:
        done = repair_run(run)
    except RunFileError as error:
        Console(stderr=True).print(
            f"rashpa repair: {error}", style="red", markup=False, highlight=False, soft_wrap=True
        )
        raise typer.Exit(_BAD_INPUT) from None
    if done.was_complete:
        text = f"{done.master} is complete; there was nothing to do"
    else:
        text = f"{done.master} is complete: {done.stored} images stored, {done.lost} lost, {done.unknown} not known"
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
