# SPDX-License-Identifier: Apache-2.0
"""`rashpa convert RAW --output OUT`: makes NXmx files from a run of the sink `raw`."""

from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.teller import AsJson, Follow, OutputBefore, Quiet, Teller, output_of
from rashpa.data.making.convert import convert_run
from rashpa.data.parts.run_parts import StoredRunError


def convert(
    run: Annotated[
        Path, typer.Argument(metavar="RAW", help="The _raw_master.h5 of the run, or the beginning of its name.")
    ],
    before: OutputBefore = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The _master.h5 to make, or the beginning of its name.")
    ] = None,
    images_per_file: Annotated[int, typer.Option("--images-per-file", min=1, max=2**32 - 1)] = 1000,
    threads: Annotated[int, typer.Option("--threads", min=1, max=64, help="Threads that compress.")] = 1,
    replace: Annotated[bool, typer.Option("--replace", help="Write over files of an earlier one.")] = False,
    follow: Follow = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make NXmx files, as the sink hdf5 writes them, of a run that the sink raw has written.

    This works also for a run whose receiver was killed: the images that the index lists are converted, with tables and books. Each image is checked
    by its CRC32C; a damaged image is marked as errored. The raw files stay as they are. The new files get their final names when all of them are
    complete.
    """
    tell = Teller("convert", as_json, quiet)
    to = output_of(tell, output, before)
    try:
        done = convert_run(
            run,
            to,
            existing="replace" if replace else "refuse",
            images_per_file=images_per_file,
            threads=threads,
            follow=follow or (),
        )
    except StoredRunError as error:
        tell.refuse(str(error))
    except MemoryError as error:
        tell.fail(str(error))
    text = f"{done.master}: {done.stored} images stored"
    if done.lost or done.unknown:
        text += f", {done.lost} lost, {done.unknown} not known: the receiver ended early, or raw files are damaged"
    tell.end(text, done.books, [done.master], stored=done.stored, lost=done.lost, unknown=done.unknown)
