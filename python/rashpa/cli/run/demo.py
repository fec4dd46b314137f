# SPDX-License-Identifier: Apache-2.0
"""`rashpa demo`: runs the first example, which the package contains. It needs no clone and no run file."""

import json
import re
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rashpa.cli.output_check import folder_trouble
from rashpa.cli.run.run import run
from rashpa.cli.teller import AsJson, Teller
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.base.packaged import packaged_file

EXAMPLE = "01_first_light.toml"
RUN_FILE = "first_light.toml"
_ITS_OWN = "examples/01_first_light.toml --output out/demo"  # how the example says that it is run


def demo(
    report: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder for the report, the images and the run file; it must be empty or absent."
        ),
    ] = Path("rashpa-demo"),
    frames: Annotated[
        int | None,
        typer.Option(min=1, help="Frames of the detector; 2400 when not given, 12 s long.", show_default=False),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page/--no-page", help="report.html; without it there is report.json alone.")
    ] = True,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, neither bar nor lines; the closing tables stay.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the first example: a JUNGFRAU 1M in software pushes images over RoCEv2 into a receiver on this machine.

    The run file is written into the folder of the report and carried out as `rashpa run` does, with the same exit codes. The last lines name the
    place of the report and the next commands to try.
    """
    console = Console(quiet=as_json)
    try:
        file = _write_run_file(report, frames)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        Teller("demo", as_json).refuse(f"--output {report}: {reason}; choose another folder")
    _say(console, f"rashpa run {_typed(file)} --output {_typed(report)}")
    try:
        run(file, report, page=page, quiet=quiet, as_json=as_json)
    except typer.Exit as end:
        if end.exit_code == ExitCode.GOOD:
            for line in _next_steps(file, report, page):
                _say(console, line)
        raise


def run_file_text(folder: Path, frames: int | None) -> str:
    """Return the run file of the example, with all output below `folder`, and with `frames` frames unless None."""
    text = packaged_file("examples", EXAMPLE).read_text(encoding="utf-8")
    text = text.replace(_ITS_OWN, f"{_typed(folder / RUN_FILE)} --output {_typed(folder)}", 1)
    output = json.dumps(str(folder), ensure_ascii=False)
    text = re.sub(r"(?m)^output = .*$", lambda _: f"output = {output}", text, count=1)
    return text if frames is None else re.sub(r"(?m)^frames = \d+$", f"frames = {frames}", text, count=1)


def _write_run_file(folder: Path, frames: int | None) -> Path:
    """Write the run file into the folder. Raise OSError, with the reason, when nothing can be written there."""
    if trouble := folder_trouble(folder):
        raise OSError(trouble)
    if folder.is_dir() and any(folder.iterdir()):
        raise OSError("the folder is not empty, and nothing is overwritten")
    text = run_file_text(folder, frames).encode()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / RUN_FILE
    file.write_bytes(text)
    return file


def _next_steps(file: Path, folder: Path, page: bool) -> list[str]:
    """Return the next steps of a newcomer, a line each."""
    where = folder.absolute() / ("report.html" if page else "report.json")
    stored = folder / "first_light_full_master.h5"
    return [
        "",
        f"The report is {where}.",
        "Next:",
        f"  look at an image:  rashpa inspect {_typed(stored)} --output {_typed(folder / 'image.png')}",
        f"  watch it live:     rashpa dashboard {_typed(file)}",
        f"  make it your own:  edit {_typed(file)}; rashpa run {_typed(file)} --output {_typed(folder)}",
    ]


def _typed(path: Path) -> str:
    """Return a path quoted for a shell."""
    return shlex.quote(str(path))


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
