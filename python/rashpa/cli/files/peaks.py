# SPDX-License-Identifier: Apache-2.0
"""`rashpa peaks`: writes the peaks of a run in CrystFEL's format."""

from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.teller import AsJson, Follow, Quiet, Teller
from rashpa.data.base.bad_file import blaming, no_memory
from rashpa.data.making.cxi import MASTER, geometry_of, has_peak_lists, peak_table, write_cxi
from rashpa.data.parts.run_parts import StoredRunError, prefix_of
from rashpa.data.parts.staged_files import staged_file
from rashpa.data.stored.joined_run import JoinedRun
from rashpa.data.stored.opened import open_one
from rashpa.data.stored.reader import Run
from rashpa.data.stored.run_books import run_books


def peaks(
    file: Annotated[Path, typer.Argument(help="The _master.h5 file of a run, or of a group of receivers.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The CXI file; by default beside the master, _peaks.cxi.")
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
    follow: Follow = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write the peaks that a kernel has found as a CXI file, which indexamajig reads with --peaks=cxi."""
    tell = Teller("peaks", as_json, quiet)
    if master and (geometry is None or output is not None):
        tell.refuse("--master writes a geometry and no CXI file; give --geometry FILE and no --output")
    name = prefix_of(file).name.removesuffix(".h5")
    output = output or file.parent / f"{name}_peaks.cxi"
    try:
        with open_one(file, follow or ()) as run:
            with blaming(f"{file}: it is damaged", StoredRunError):
                books = run_books(run)
            if master and geometry is not None:
                _check_master(tell, run)
                _write_text(geometry, geometry_of(run, MASTER))
                tell.end("", books, [geometry])
            with staged_file(output) as made:
                with blaming(str(file), StoredRunError, "copy it again, or choose another --output"):
                    done = write_cxi(run, made, output)
                if geometry is not None:
                    _write_text(geometry, geometry_of(run))
    except typer.Exit:  # a RuntimeError, as those of damaged files are
        raise
    except StoredRunError as error:
        tell.refuse(str(error))
    except OSError as error:
        tell.refuse(
            f"{error.filename or output}: it cannot be written: {error.strerror or error}; choose another --output"
        )
    except MemoryError as error:
        tell.fail(f"{file}: {no_memory(error)}")
    text = f"{output}: {done.peaks} peaks of {done.table} in {done.images} images"
    if not done.with_pixels:
        text += "; the run holds lists, so that there are no images beside them"
    tell.end(text, books, [output, *([geometry] if geometry else [])], peaks=done.peaks, images=done.images)


def _check_master(tell: Teller, run: Run | JoinedRun) -> None:
    """Refuse the command when CrystFEL cannot read peaks and images from the master itself."""
    peak_table(run)
    if run.form != "dense":
        tell.refuse(f"{run.path}: the run holds lists, no images; leave --master out")
    if not has_peak_lists(run):
        kind = "leads to several files" if isinstance(run, JoinedRun) else "is of an older version"
        tell.refuse(f"{run.path}: {kind}, and has no /entry/result_1; leave --master out")


def _write_text(path: Path, text: str) -> None:
    with staged_file(path) as made:
        made.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(peaks)
