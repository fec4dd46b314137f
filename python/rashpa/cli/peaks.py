# SPDX-License-Identifier: Apache-2.0
"""`rashpa peaks`: the peaks of a run, as CrystFEL reads them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rashpa.cli.inspect import DAMAGED
from rashpa.data.cxi import MASTER, geometry_of, has_peak_lists, peak_table, write_cxi
from rashpa.data.reader import open_run
from rashpa.data.run_parts import RunFileError, prefix_of

_BAD_INPUT = 2


def peaks(
    file: Annotated[Path, typer.Argument(help="The _master.h5 file of a run.")],
    output: Annotated[
        Path | None, typer.Option("--output", help="The CXI file; by default beside the master, _peaks.cxi.")
    ] = None,
    geometry: Annotated[
        Path | None, typer.Option("--geometry", help="Write a geometry for CrystFEL into this file, too.")
    ] = None,
    master: Annotated[
        bool,
        typer.Option(
            "--master", help="Write no CXI file; the geometry is for the master itself, which has the peaks, too."
        ),
    ] = False,
) -> None:
    """Write the peaks that a kernel has found as a CXI file, which indexamajig reads with --peaks=cxi."""
    if master and (geometry is None or output is not None):
        _refuse("--master writes a geometry and no CXI file; give --geometry FILE and no --output")
    name = prefix_of(file).name.removesuffix(".h5")
    output = output or file.parent / f"{name}_peaks.cxi"
    try:
        with open_run(file) as run:
            if master and geometry is not None:
                peak_table(run)
                if run.form != "dense":
                    _refuse(f"{file}: the run holds lists, no images; leave --master out")
                if not has_peak_lists(run):
                    _refuse(f"{file}: has no /entry/result_1, as files of before; leave --master out")
                geometry.write_text(geometry_of(run, MASTER), encoding="utf-8")
                return
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
