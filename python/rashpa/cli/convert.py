# SPDX-License-Identifier: Apache-2.0
"""`rashpa convert RAW OUT`: NXmx files of a run that the sink `raw` has written."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rashpa.data.convert import convert_run
from rashpa.data.run_parts import RunFileError

_BAD_INPUT = 2


def convert(
    run: Annotated[
        Path, typer.Argument(metavar="RAW", help="The _raw_master.h5 of the run, or what its name begins with.")
    ],
    to: Annotated[Path, typer.Argument(metavar="OUT", help="The _master.h5 to make, or what its name begins with.")],
    images_per_file: Annotated[int, typer.Option("--images-per-file", min=1, max=2**32 - 1)] = 1000,
    threads: Annotated[int, typer.Option("--threads", min=1, max=64, help="That compress.")] = 1,
    replace: Annotated[bool, typer.Option("--replace", help="Write over files of an earlier one.")] = False,
) -> None:
    """Make NXmx files, as the sink hdf5 writes them, of a run that the sink raw has written.

    Also of a run whose receiver was killed: what the index holds is converted, with its tables and books. Each image is checked by its
    CRC32C; one that is not as it was written is errored. The raw files stay as they are.
    """
    try:
        done = convert_run(
            run, to, existing="replace" if replace else "refuse", images_per_file=images_per_file, threads=threads
        )
    except RunFileError as error:
        Console(stderr=True).print(
            f"rashpa convert: {error}", style="red", markup=False, highlight=False, soft_wrap=True
        )
        raise typer.Exit(_BAD_INPUT) from None
    text = f"{done.master}: {done.stored} images stored"
    if done.lost or done.unknown:
        text += f", {done.lost} lost, {done.unknown} not known: the receiver ended early, or raw files are damaged"
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
