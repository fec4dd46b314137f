# SPDX-License-Identifier: Apache-2.0
"""`rashpa receiver --measure FILE`: measures the pipelines of run files on this machine's units, and keeps the results for managers."""

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from rashpa.cli.fitted import Fitted, print_table
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.data.base.exit_code import ExitCode
from rashpa.node.engine.engine import EngineError


def measure_pipelines(files: Sequence[Path], seconds: float, kept: Path | None, *, files_too: bool = False) -> None:
    """Measure the pipelines of run files for `seconds` each, show the figures and store them. `files_too`: also measure the writing of files."""
    from rashpa.node.offline.measure import Measured, measure, measure_files
    from rashpa.node.offline.measured_file import default_path, store_measured

    console, errors = Console(), Console(stderr=True)
    path = kept or default_path()

    def complain(text: str) -> None:
        for line in text.splitlines():
            errors.print(f"rashpa receiver: {line}", style="red", markup=False, highlight=False, soft_wrap=True)

    def tell(text: str) -> None:
        errors.print(f"measuring {text}", markup=False, highlight=False, soft_wrap=True)

    found: list[Measured] = []
    try:
        for file in files:
            found += measure(file, seconds, tell)
            if files_too:
                found += measure_files(file, seconds, tell)
    except (RunFileError, OSError) as error:
        complain(str(error))
        raise typer.Exit(ExitCode.BAD_INPUT) from None
    known = [one.throughput for one in found if one.throughput is not None]
    table = Fitted(box=None)
    for name in ("buffer", "pipeline", "pixels", "images/s"):
        table.add_column(name, justify="right" if name in ("pixels", "images/s") else "left", overflow="fold")
    for one in found:
        if (made := one.throughput) is not None:
            table.add_row(one.buffer, one.what, f"{made.width} × {made.height}", f"{made.images_per_s:.1f}")
        else:
            complain(f"{one.buffer}: {one.what}: {one.trouble}")
    if not known:
        complain(
            "nothing was measured: no buffer has a kernel that a unit of this machine carries out, or files where --measure-files asks for them"
        )
        raise typer.Exit(ExitCode.FAILED)
    print_table(console, table)
    try:
        store_measured(path, known)
    except (EngineError, OSError) as error:
        complain(f"{path}: cannot be written: {error}")
        raise typer.Exit(ExitCode.FAILED) from None
    console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)
