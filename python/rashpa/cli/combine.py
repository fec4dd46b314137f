# SPDX-License-Identifier: Apache-2.0
"""`rashpa combine`: one file that leads to the images of several masters; what `rashpa run` does at the end of a run of several buffers or receivers."""

from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.told import AsJson, Teller
from rashpa.control.outcome import Outcome
from rashpa.data.books import DataBooks, all_of
from rashpa.data.combined import combine as combine_masters
from rashpa.data.combined import masters_of
from rashpa.data.reader import open_run
from rashpa.data.run_books import run_books
from rashpa.data.run_parts import RunFileError, prefix_of


def combine(
    masters: Annotated[list[Path], typer.Argument(help="_master.h5 files of one run.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """One NeXus file for several masters of a run: an entry each, or one of all images in the order of their frames where they have the same shape.

    It holds links and virtual datasets: keep the files where they are, or move all of them together. Exit code 0 when every image of these runs can
    be reached by it; 2 for bad input; 3 when images are errored, not known, or not in their data files.
    """
    tell = Teller("combine", as_json)
    try:
        books = all_of([_books_of(master) for master in masters])
        combine_masters(_parts_of(masters), out)
    except RunFileError as error:
        tell.refuse(str(error))
    tell.end(f"wrote {out}: {books.text()}", books, [out])


def _books_of(master: Path) -> DataBooks:
    with open_run(master) as run:
        if run.form == "raw":
            raise RunFileError(f"{master}: its images are in raw files; rashpa convert makes NXmx of them first")
        return run_books(run)


def _parts_of(masters: list[Path]) -> dict[str, list[Path]]:
    shapes = set()
    for master in masters:
        with open_run(master) as run:
            shapes.add((run.form, run.shape, run.dtype))
    if len(shapes) == 1 and next(iter(shapes))[0] == "dense":
        return {"entry": masters}
    return {prefix_of(master).name: [master] for master in masters}


def combine_run(outcome: Outcome) -> Path | None:
    """The combined master of a run with several files, as far as they can be reached from here; None where there is nothing to combine. RunFileError."""
    plan = outcome.plan
    files = {buffer.name: Path(buffer.file) for buffer in outcome.buffers if buffer.file}
    reached = {name: file for name, file in files.items() if _is_of(outcome, file)}
    parts: dict[str, list[Path]] = {}
    grouped = {
        buffer.section.name: group
        for group in plan.groups
        for member in group.members
        for buffer in plan.buffers_of(member)
    }
    for name, file in reached.items():
        group = grouped.get(name)
        parts.setdefault(group.name if group is not None else name, []).append(file)
    if sum(map(len, parts.values())) < 2:
        return None
    out = next(iter(reached.values())).parent / f"{plan.file.run.name}_master.h5"
    return combine_masters(parts, out)


def _is_of(outcome: Outcome, file: Path) -> bool:
    """Whether the file that has this name here is the run's: a node elsewhere may have one of the same name."""
    run = outcome.plan.file.run
    try:
        with open_run(file) as stored:
            ours = (stored.facts.run_name, stored.facts.run_number) == (run.name, run.number)
            return ours and stored.form != "raw" and not masters_of(file)
    except (RunFileError, OSError):
        return False
