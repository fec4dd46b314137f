# SPDX-License-Identifier: Apache-2.0
"""`rashpa inspect`: shows a summary of a stored run, and makes pictures of it."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from rashpa.cli.fitted import Fitted
from rashpa.cli.summary_text import summary_text
from rashpa.cli.teller import AsJson, Follow, Teller
from rashpa.control.books.run_summary import StoredFile, SummaryFacts, facts_of_report, open_lines, summary_lines
from rashpa.data.base.bad_file import blaming, no_memory
from rashpa.data.base.books import DataBooks, all_of
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.base.telling import only_tells
from rashpa.data.figures.image_values import brightest_image
from rashpa.data.files.hdf5.files import folders_of
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.combined.combined import is_combined, left_out_in
from rashpa.data.stored.hits import no_hits
from rashpa.data.stored.joined_run import JoinedRun, open_parts
from rashpa.data.stored.opened import open_one
from rashpa.data.stored.reader import Run, open_run
from rashpa.data.stored.run_books import run_books
from rashpa.data.stored.run_facts import IncompleteImage, RunSummary
from rashpa.data.stored.stored_runs import masters_at, report_at


def inspect(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="WHERE",
            help="A _master.h5 file; one that leads to several, a folder of them, or a report (its folder, or report.json), which knows where they are.",
            show_default=False,
        ),
    ],
    image: Annotated[
        int | None,
        typer.Option("--image", help="Stored image to draw, from 0; by default the one with most bright pixels."),
    ] = None,
    png: Annotated[Path | None, typer.Option("--output", "-o", help="Draw an image into this PNG file.")] = None,
    hits: Annotated[
        Path | None, typer.Option("--hits", help="Draw bright pixels against frame number into this PNG file.")
    ] = None,
    follow: Follow = None,
    as_json: AsJson = False,
) -> None:
    """Show a summary of a run: books, rates, vetoes, first incomplete images. Make pictures on request."""
    tell = Teller("inspect", as_json)
    try:
        masters = masters_at(file, follow or ())
        _show_report(tell, file)
        wanted = _Pictures(image, png, hits)
        if len(masters) > 1 and wanted and not is_combined(file):
            names = ", ".join(map(str, masters))
            tell.refuse(f"{file}: leads to {len(masters)} files, and a picture is of one; give one of {names}")
        each = _Pictures() if is_combined(file) else wanted
        looked, unread = _looked(tell, masters, follow or (), each)
        books = all_of(books for books, _ in looked)
        lacking = (*unread, *_lacking(file)) if is_combined(file) else unread
        if is_combined(file) and unread:
            books = all_of([books, _books_of_gone(file, follow or ())])
        if is_combined(file) and wanted:
            with open_one(file, follow or ()) as run:
                _check(tell, run, wanted)
                _draw(tell, run, wanted)
    except StoredRunError as error:
        tell.refuse(str(error))
    books = replace(books, troubles=(*books.troubles, *lacking))
    code, problem = (ExitCode.NOT_WHOLE, lacking[0]) if lacking else (None, "")
    tell.end("", books, masters, code=code, problem=problem, runs=[facts for _, facts in looked])


def _show_report(tell: Teller, file: Path) -> None:
    """Print the summary when `file` is a report; otherwise do nothing."""
    report = report_at(file)
    if report is None or tell.as_json:
        return
    try:
        facts = facts_of_report(report)
        lines = [*summary_lines(facts), *open_lines(facts.files)]
    except (LookupError, TypeError, ValueError, AttributeError):
        return  # of another version: it leads to the files all the same
    Console().print(summary_text(lines), soft_wrap=True)


_Looked = list[tuple[DataBooks, dict[str, Any]]]


def _looked(
    tell: Teller, masters: Sequence[Path], follow: Sequence[Path], wanted: "_Pictures"
) -> tuple[_Looked, tuple[str, ...]]:
    """Inspect each master; return the results of the readable ones, and an error text for each other one. Raise StoredRunError when none is readable."""
    looked: _Looked = []
    unread: list[str] = []
    for master in masters:
        try:
            looked.append(_inspect(tell, master, folders_of(master, follow), wanted))
        except StoredRunError as error:
            unread.append(str(error))
    if not looked:
        raise StoredRunError("\n".join(unread))
    return looked, tuple(unread)


@dataclass(frozen=True)
class _Pictures:
    """Names the pictures that a user has asked for."""

    image: int | None = None
    png: Path | None = None
    hits: Path | None = None

    def __bool__(self) -> bool:
        return (self.image, self.png, self.hits) != (None, None, None)


def _lacking(file: Path) -> Iterator[str]:
    """Yield a line for each master that is missing from a combined file."""
    for name, why in left_out_in(file).items():
        yield f"{file}: it lacks the images of {name}: {why}"


def _books_of_gone(file: Path, follow: Sequence[Path]) -> DataBooks:
    """Return the books of images of lost masters, as a combined file counts them. An entry with one master counts none. Raise StoredRunError."""
    parts = open_parts(file, folders=folders_of(file, follow))
    gone = 0
    for run in parts.values():
        with run:
            gone += len(run.gone) if isinstance(run, JoinedRun) else 0
    return DataBooks(gone, 0, gone)


def _check(tell: Teller, run: Run | JoinedRun, wanted: _Pictures) -> None:
    """Refuse the command when a picture cannot be drawn."""
    if wanted.image is not None and wanted.png is None:
        tell.refuse("--image chooses what --output draws; add --output FILE.png")
    if wanted.image is not None and not 0 <= wanted.image < len(run):
        tell.refuse(f"{run.path}: there is no image {wanted.image}; it holds {len(run)} (counted from 0)")
    if wanted.png is not None and len(run) == 0:
        tell.refuse(f"{run.path}: holds no image to draw")
    if wanted.hits is not None and (why := no_hits(run)):
        tell.refuse(f"{run.path}: {why}")


def _inspect(
    tell: Teller, file: Path, folders: tuple[Path, ...], wanted: _Pictures
) -> tuple[DataBooks, dict[str, Any]]:
    try:
        with open_run(file, folders=folders) as run:
            _check(tell, run, wanted)
            with blaming(f"{file}: it is damaged", StoredRunError):
                summary, books = run.summary(), run_books(run)
            if not tell.as_json:
                _show(Console(), summary)
                _show_image(run)
            _draw(tell, run, wanted)
            return books, _document(summary)
    except MemoryError as error:
        tell.fail(f"{file}: {no_memory(error)}")


def _show_image(run: Run | JoinedRun) -> None:
    """Show the brightest image on a terminal that can show pictures. A damaged image is reported and does not make the summary fail."""
    if not isinstance(run, Run) or not sys.stdout.isatty():
        return
    from rashpa.cli.terminal_picture import (
        SIDE,
        protocol_of,
        show_picture,
    )  # as are the drawing's parts, for pictures alone
    from rashpa.data.figures.picture import brightest

    with only_tells("the picture", lambda _: None):
        protocol = protocol_of(sys.stdout, os.environ)
        if protocol and (found := brightest(run, SIDE)) is not None:
            show_picture(found.picture.png(), protocol)


def _draw(tell: Teller, run: Run | JoinedRun, wanted: _Pictures) -> None:
    if wanted.png is None and wanted.hits is None:
        return
    from rashpa.data.figures import plot  # matplotlib takes a second to load, and a summary does not need it

    try:
        if wanted.png is not None:
            with blaming(f"{run.path}: it is damaged", StoredRunError):
                image = brightest_image(run) if wanted.image is None else wanted.image
            plot.draw_image(run, image, wanted.png)
        if wanted.hits is not None:
            plot.draw_hits(run, wanted.hits)
    except OSError as error:
        where = error.filename or wanted.png or wanted.hits
        tell.refuse(f"{where}: the picture cannot be written: {error.strerror or error}; choose another file")


def _document(summary: RunSummary) -> dict[str, Any]:
    """Return the facts of a run for `--json`, with the run's own books."""
    names = ("file", "form", "stored", "shape", "dtype", "books", "unknown", "vetoes", "errors", "incomplete")
    return {name: getattr(summary, name) for name in names}


def _plain(text: str) -> str:
    return text.replace("[", r"\[")


def _show(console: Console, summary: RunSummary) -> None:
    console.print(f"[bold]{_plain(summary.file.name)}[/]  {_plain(summary.texts.get('detector', ''))}")
    console.print(summary_text(summary_lines(_summary_of(summary))), soft_wrap=True)
    console.print(_facts(summary))
    console.print(_books(summary))
    if summary.unknown:
        console.print(
            f"The receiver ended early: nothing is known of {summary.unknown} images. The file was completed by rashpa repair.",
            style="yellow",
        )
    if summary.errors.get("storage"):
        console.print(f"Storing failed: {summary.errors['storage']} images that should have been kept", style="red")
    if summary.incomplete:
        console.print(_incomplete(summary))


def _summary_of(summary: RunSummary) -> SummaryFacts:
    verdict = "The books balance." if summary.balanced else "The books do NOT balance."
    stored = StoredFile(str(summary.file), summary.stored, summary.stored_bytes)
    return SummaryFacts(
        verdict, summary.balanced, summary.books, summary.frame_rate_hz, vetoes=summary.vetoes, files=(stored,)
    )


def _facts(summary: RunSummary) -> Table:
    facts = Table.grid(padding=(0, 2))
    rows, columns = summary.shape
    facts.add_row("images stored", f"{summary.stored} of {columns} × {rows} pixels, {summary.dtype}, {summary.form}")
    ratio = summary.compression_ratio
    if ratio is not None:
        if summary.form == "raw":
            how = "as they are; rashpa convert makes NXmx of them"
        else:
            how = (
                f"{ratio:.1f} times smaller ({'as lists of pixels' if summary.form == 'sparse' else 'bitshuffle-LZ4'})"
            )
        facts.add_row("on disk", f"{summary.stored_bytes / 1e6:.1f} MB, {how}")
    if summary.frame_rate_hz is not None:
        facts.add_row("frame rate", f"{summary.frame_rate_hz:.1f} Hz (timestamps of the detector)")
    if summary.hit_rate is not None:
        facts.add_row("hit rate", f"{100 * summary.hit_rate:.1f} % accepted of the images decided on")
    for name, table in summary.tables.items():
        facts.add_row(_plain(f"table {name}"), _plain(f"{table.rows} rows of {', '.join(table.columns)}"))
    for name, profile in summary.profiles.items():
        axes = ", ".join(
            f"{axis} {values[0]:.4g} to {values[-1]:.4g} {profile.units[axis]}".rstrip()
            for axis, values in profile.axes.items()
        )
        bins = " × ".join(str(count) for count in profile.shape)
        facts.add_row(_plain(f"profile {name}"), _plain(f"{', '.join(profile.arrays)}: {bins} bins, {axes}"))
    for name, sums in summary.accumulations.items():
        images = sum(window.images for window in sums.windows)
        shown = f"{len(sums.windows)} windows, {images} images: {', '.join(sums.quantities)}"
        facts.add_row(_plain(f"accumulated by {name}"), _plain(shown))
    names = {
        "sample": "sample",
        "start_time": "started",
        "end_time": "ended",
        "buffer": "buffer",
        "receiver": "receiver",
        "proof": "proof",
        "labels": "labels",
        "software_version": "rashpa",
    }
    for name, title in names.items():
        if name in summary.texts:
            facts.add_row(title, _plain(summary.texts[name]))
    return facts


def _books(summary: RunSummary) -> Fitted:
    verdict = "[green]they balance[/]" if summary.balanced else "[bold red]they do not balance[/]"
    table = Fitted(title=f"Books: {verdict}", title_justify="left", title_style="bold")
    table.add_column("images")
    table.add_column("number", justify="right")
    for name, count in summary.books.items():
        table.add_row(name, f"{count}")
        for reason, number in {"vetoed": summary.vetoes, "errored": summary.errors}.get(name, {}).items():
            table.add_row(f"  {reason.replace('_', ' ')}", f"{number}", style="dim")
    return table


def _incomplete(summary: RunSummary) -> Fitted:
    shown = len(summary.first_incomplete)
    title = f"Incomplete images: {summary.incomplete}" + (f", the first {shown}" if shown < summary.incomplete else "")
    table = Fitted(title=title, title_justify="left", title_style="bold")
    table.add_column("frame", justify="right")
    table.add_column("state")
    table.add_column("lost lines (DTP: first–last)")
    for one in summary.first_incomplete:
        table.add_row(f"{one.frame_number}", one.completeness, _lost(one))
    return table


def _lost(one: IncompleteImage) -> str:
    if not one.lost:
        return "all" if one.completeness == "missing" else ""
    words = [f"{run.dtp}: {run.first_line}–{run.first_line + run.lines - 1}" for run in one.lost[:6]]
    return ", ".join(words) + (f", and {len(one.lost) - 6} more" if len(one.lost) > 6 else "")


if __name__ == "__main__":
    typer.run(inspect)
