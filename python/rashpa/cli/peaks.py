# SPDX-License-Identifier: Apache-2.0
"""`rashpa peaks`: the peaks of a run, as CrystFEL reads them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rashpa.cli.inspect import DAMAGED
from rashpa.data.cxi import geometry_of, write_cxi
from rashpa.data.reader import RunFileError, open_run

_BAD_INPUT = 2


def peaks(
    file: Annotated[Path, typer.Argument(help="The _master.h5 file of a run.")],
    output: Annotated[
        Path | None, typer.Option("--output", help="The CXI file; by default beside the master, _peaks.cxi.")
    ] = None,
    geometry: Annotated[
        Path | None, typer.Option("--geometry", help="Write a geometry for CrystFEL into this file, too.")
    ] = None,
) -> None:
    """Write the peaks that a kernel has found as a CXI file, which indexamajig reads with --peaks=cxi."""
    name = file.name.removesuffix("_master.h5").removesuffix(".h5")
    output = output or file.parent / f"{name}_peaks.cxi"
    try:
        with open_run(file) as run:
            done = write_cxi(run, output)
            if geometry is not None:
                geometry.write_text(geometry_of(run), encoding="utf-8")
    except RunFileError as error:
        _refuse(str(error))
    except DAMAGED as error:
        _refuse(f"{file}: {str(error).strip(chr(34)) or type(error).__name__}")
    text = f"{done.file}: {done.peaks} peaks of {done.table} in {done.images} images"
    if not done.with_pixels:
        text += "; the run holds lists, so that there are no images beside them"
    Console().print(text, markup=False, highlight=False, soft_wrap=True)


def _refuse(message: str) -> None:
    Console(stderr=True).print(f"rashpa peaks: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(_BAD_INPUT) from None


if __name__ == "__main__":
    typer.run(peaks)
