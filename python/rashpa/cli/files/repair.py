# SPDX-License-Identifier: Apache-2.0
"""`rashpa repair RUN`: completes a master file that its receiver could not complete."""

from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.teller import AsJson, Follow, Quiet, Teller
from rashpa.data.making.repair import repair_run
from rashpa.data.parts.run_parts import StoredRunError


def repair(
    run: Annotated[Path, typer.Argument(help="The _master.h5 file of the run, or the beginning of its name.")],
    follow: Follow = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Complete the master file of a run whose receiver was killed, or had no room for it.

    Tables, links and books are made from the journal beside it and from the contents of the data files. Nothing is invented: an image that neither of
    them describes stays open and undecided in the tables. An image that its data file does not hold is marked as errored.
    """
    tell = Teller("repair", as_json, quiet)
    try:
        done = repair_run(run, follow=follow or ())
    except StoredRunError as error:
        tell.refuse(str(error))
    except MemoryError as error:
        tell.fail(str(error))
    if not done.was_complete:
        state = "is complete" if done.books.whole else "can be read again"
        text = f"{done.master} {state}: {done.stored} images stored, {done.lost} lost, {done.unknown} not known"
    elif done.books.whole:
        text = f"{done.master} is complete; there was nothing to do"
    else:
        text = f"{done.master} was completed before; there was nothing to do, and images are not there"
    facts = {"was_complete": done.was_complete, "stored": done.stored, "lost": done.lost, "unknown": done.unknown}
    tell.end(text, done.books, [done.master], **facts)
