# SPDX-License-Identifier: Apache-2.0
"""`rashpa combine`: writes one file that links to the images of several masters. `rashpa run` writes one at the end of a run with several buffers or
receivers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.teller import AsJson, Follow, Quiet, Teller
from rashpa.control.books.outcome import Outcome
from rashpa.control.telegrams.part_orders import ENDINGS
from rashpa.data.base.bad_file import no_memory
from rashpa.data.base.books import DataBooks, all_of
from rashpa.data.files.hdf5.files import folders_of
from rashpa.data.parts.older_files import MASTER
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.combined.combined import combine as combine_masters
from rashpa.data.stored.combined.combined import is_combined, left_out_in, masters_of, parts_of
from rashpa.data.stored.reader import open_run
from rashpa.data.stored.run_books import run_books


def combine(
    masters: Annotated[list[Path], typer.Argument(help="_master.h5 files of one run.", show_default=False)],
    out: Annotated[Path, typer.Option("--output", "-o", help="The file to write.", show_default=False)],
    follow: Follow = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Combine several masters of a run into one NeXus file: an entry each, or one of all frames where they describe the same experiment.

    It holds links and virtual datasets: keep the files where they are, or move all of them together.
    """
    tell = Teller("combine", as_json, quiet)
    try:
        single = [one for master in masters for one in _singles_of(master, follow or ())]
        books = all_of([_books_of(master, follow or ()) for master in single])
        combine_masters(parts_of(single, follow or ()), out, follow=follow or ())
    except StoredRunError as error:
        tell.refuse(str(error))
    except MemoryError as error:
        tell.fail(no_memory(error))
    tell.end(f"wrote {out}: {books.text()}", books, [out])


def _singles_of(master: Path, follow: Sequence[Path]) -> list[Path]:
    """Return the file itself, or all masters to which it links. Raise StoredRunError when a linked master is missing."""
    if not is_combined(master):
        return [master]
    for name, why in left_out_in(master).items():
        raise StoredRunError(f"{master}: it lacks the images of {name}: {why}")
    return masters_of(master, follow)


def _books_of(master: Path, follow: Sequence[Path]) -> DataBooks:
    with open_run(master, folders=folders_of(master, follow)) as run:
        if run.form == "raw":
            raise StoredRunError(f"{master}: its images are in raw files; rashpa convert makes NXmx of them first")
        return run_books(run)


def combine_run(outcome: Outcome) -> Path | None:
    """Combine the files of a run that this machine can reach, and return the combined master. Return None when there are fewer than two files. Raise
    StoredRunError."""
    plan = outcome.plan
    files = {buffer.name: Path(buffer.file) for buffer in outcome.buffers if buffer.file}
    for file in list(files.values())[:1]:
        files |= _files_of_lost(outcome, file.parent)
    reached = {name: file for name, file in files.items() if file.parent.is_dir() and _is_to_be_read(outcome, file)}
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
    return combine_masters(parts, out, go_on=True, run=outcome.run_id)


def _files_of_lost(outcome: Outcome, folder: Path) -> dict[str, Path]:
    """Return the expected files of lost receivers, by buffer, in the folder of the other files."""
    run = outcome.plan.file.run
    return {
        buffer.section.name: folder / f"{run.name}_{buffer.section.name}{ENDINGS['hdf5']}{MASTER}"
        for buffer in outcome.plan.buffers
        if buffer.receiver in outcome.lost and any(sink.kind == "hdf5" for sink in buffer.section.sink)
    }


def _is_to_be_read(outcome: Outcome, file: Path) -> bool:
    """Return True when the file may belong to this run and holds images or lists of them. An unfinished file counts, because `rashpa repair` may
    complete it. A file of another run with the same name does not."""
    try:
        with open_run(file) as stored:
            return stored.form != "raw" and stored.facts.run_id in ("", outcome.run_id)
    except StoredRunError:
        return file.exists() and not is_combined(file)
    except OSError:
        return False
