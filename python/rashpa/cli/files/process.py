# SPDX-License-Identifier: Apache-2.0
"""`rashpa process FILES… --pipeline FILE`: processes stored images with the pipeline of a run file."""

import concurrent.futures
import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from rashpa.cli.fitted import Fitted, print_table
from rashpa.cli.output_check import folder_trouble
from rashpa.cli.teller import AsJson, Follow, Teller
from rashpa.data.base.books import DataBooks, all_of
from rashpa.data.base.ended import ended_in_order
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.files.file_names import natural
from rashpa.data.parts.older_files import MASTER, older_files
from rashpa.node.offline.process import (
    Job,
    NotBegunError,
    Processed,
    ProcessError,
    check,
    load_pipeline,
    process_recording,
    recordings_of,
)

_Files = Annotated[
    list[Path],
    typer.Argument(
        help="Stored images: runs of rashpa, NXmx and EIGER HDF5, .npy, .bin, .zst; CBF, TIFF, EDF (together one recording).",
        show_default=False,
    ),
]
_Pipeline = Annotated[
    Path, typer.Option("--pipeline", "-p", help="Run file: its detector, calibration, kernels and sinks.")
]
_Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", min=0, max=1024, help="Recordings at a time, a process each; 0: by processors."),
]
_HeaderBytes = Annotated[
    int, typer.Option(min=0, max=1 << 20, help="Before each frame of raw files; 112: SLS receiver.")
]
_AllowMissing = Annotated[
    bool,
    typer.Option("--allow-missing", help="Go on with the images that are there; the others are missing in the books."),
]


def process(
    files: _Files,
    pipeline: _Pipeline,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the results.")] = Path("out"),
    buffer: Annotated[str, typer.Option(help="Buffer of the run file, when it has several.")] = "",
    unit: Annotated[str, typer.Option(help="Unit of the kernels, in place of the run file's.")] = "",
    threads: Annotated[int, typer.Option(min=0, max=256, help="Threads of unit cpu; 0: as the run file says.")] = 0,
    jobs: _Jobs = 0,
    cluster: Annotated[str, typer.Option(help="Address of a Dask scheduler, whose workers see the same files.")] = "",
    header_bytes: _HeaderBytes = 0,
    join: Annotated[bool, typer.Option("--join", help="All files are one recording, in the order given.")] = False,
    follow: Follow = None,
    allow_missing: _AllowMissing = False,
    replace: Annotated[bool, typer.Option("--replace", help="Write over results of the same name.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    as_json: AsJson = False,
) -> None:
    """Process stored images as a run would have: the same kernels, files and books.

    The run file is one of `rashpa run`; its keys for links, rates and frames are ignored. Each recording becomes a separate run,
    named after its file.
    """
    tell = Teller("process", as_json)
    if cluster:  # its workers have other working folders
        files, pipeline, output = [file.absolute() for file in files], pipeline.absolute(), output.absolute()
    folders = tuple(folder.absolute() for folder in follow or ())
    try:
        recordings = recordings_of(files, join=join)
    except ProcessError as error:
        tell.refuse(str(error))
    if join and list(files) != sorted(files, key=natural):
        tell.complain(
            f"caution: --join takes the files as they are given: {files[0].name}, {files[1].name} …; their numbers have another order"
        )
    jobs_of = [
        Job(pipeline, buffer, output, recording, replace, header_bytes, threads, unit, folders, allow_missing)
        for recording in recordings
    ]
    frames = _checked(tell, jobs_of)
    console = Console(quiet=as_json)
    results = _processed(tell, jobs_of, frames, _Ways(jobs, cluster), console, quiet)
    done = [result for result in results if isinstance(result, Processed)]
    _show(console, done)
    books = [_books_of(result, count) for result, count in zip(results, frames, strict=True)]
    entries = [
        {
            "name": job.recording.name,
            "problem": _text_of(result) if isinstance(result, Exception) else "",
            "books": one.as_json(),
        }
        for job, result, one in zip(jobs_of, results, books, strict=True)
    ]
    masters = [f"{one.prefix}_master.h5" for one in done if one.prefix]
    tell.end("", all_of(books), masters, code=_code_of(results, done), recordings=entries)


@dataclass(frozen=True)
class _Ways:
    """Describes the place of the processing: a number of processes of this machine (0: one for each processor), or a cluster."""

    processes: int
    cluster: str


def _processed(
    tell: Teller, jobs: Sequence[Job], frames: Sequence[int], ways: _Ways, console: Console, quiet: bool
) -> list[Processed | Exception]:
    """Return the result of each recording, in order; show progress and print errors. An interrupt ends the command."""
    results: list[Processed | Exception] = []
    with ended_in_order(), _progress(console, quiet) as bar:
        task = bar.add_task("images", total=sum(frames))
        try:
            for number, result in _carry_out(tell, jobs, ways, lambda count: bar.advance(task, count)):
                results.append(result)
                if isinstance(result, Exception):
                    tell.complain(_text_of(result))
                else:
                    for caution in result.cautions:
                        tell.complain(f"caution: {caution}")
                bar.update(task, completed=sum(frames[: number + 1]))
        except KeyboardInterrupt:
            there = any(
                one.name.endswith(MASTER) for job in jobs if job.output.is_dir() for one in job.output.iterdir()
            )
            what = "what was processed until then is stored" if there else "nothing was processed until then"
            tell.complain(f"interrupted; {what}")
            raise typer.Exit(ExitCode.INTERRUPTED) from None
    return results


def _code_of(results: Sequence[Processed | Exception], done: Sequence[Processed]) -> ExitCode:
    if results and all(isinstance(result, NotBegunError) for result in results):
        return ExitCode.BAD_INPUT
    if len(done) < len(results):
        return ExitCode.FAILED
    return ExitCode.GOOD if all(one.good for one in done) else ExitCode.NOT_WHOLE


def _text_of(error: Exception) -> str:
    return str(error) or type(error).__name__


def _books_of(result: Processed | Exception, frames: int) -> DataBooks:
    """Return the books of a recording. When it failed, count all of its images as errored, because their fate is unknown."""
    return result.books if isinstance(result, Processed) else DataBooks(frames, 0, errored=frames)


def _checked(tell: Teller, jobs: Sequence[Job]) -> list[int]:
    """Return the number of images of each recording. Check all of them before the first is processed."""
    problems: list[str] = []
    frames: list[int] = []
    if trouble := folder_trouble(jobs[0].output):
        tell.refuse(f"--output {jobs[0].output}: {trouble}; choose another folder")
    try:
        file, _ = load_pipeline(jobs[0].pipeline, jobs[0].buffer)
    except ProcessError as error:
        tell.refuse(str(error))
    for job in jobs:
        prefix = job.output / f"{job.recording.name}_{file.buffer[0].name}"
        if not job.replace and job.output.is_dir() and (old := older_files(prefix)):
            problems.append(f"{old[0]} exists; move it, choose another --output, or give --replace")
            continue
        try:
            frames.append(check(job).frames)
        except ProcessError as error:
            problems.append(str(error))
    if problems:
        tell.refuse("\n".join(problems))
    return frames


@contextlib.contextmanager
def _progress(console: Console, quiet: bool) -> Iterator[Progress]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as bar:
        yield bar


def _carry_out(
    tell: Teller, jobs: Sequence[Job], ways: _Ways, progress: Callable[[int], None]
) -> Iterator[tuple[int, Processed | Exception]]:
    """Yield the index and result of each job, in the order of the jobs. The result of a failed recording is its exception."""
    if ways.cluster:
        with _cluster(tell, ways.cluster) as executor:
            yield from _results([executor.submit(process_recording, job) for job in jobs])
        return
    processors = len(os.sched_getaffinity(0))
    at_once = min(ways.processes or processors, len(jobs))
    if at_once == 1:
        for number, job in enumerate(jobs):
            try:
                yield number, process_recording(job, progress)
            except ProcessError as error:
                yield number, error
        return
    # processes of their own, not copies of this one: threads of the native module do not survive a fork
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(at_once, mp_context=context) as pool:
        yield from _results([pool.submit(process_recording, job) for job in jobs])


def _results(futures: "Sequence[concurrent.futures.Future[Processed]]") -> Iterator[tuple[int, Processed | Exception]]:
    for number, future in enumerate(futures):
        try:
            yield number, future.result()
        except Exception as error:  # noqa: BLE001 (a process that ended, a worker that is lost: others go on)
            yield number, error


@contextlib.contextmanager
def _cluster(tell: Teller, address: str) -> Iterator[concurrent.futures.Executor]:
    try:
        from distributed import Client
    except ImportError:
        tell.refuse("--cluster needs Dask: pip install 'rashpa[cluster]'")
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        tell.refuse(f"--cluster {address}: no scheduler answers ({error}); start one with `dask scheduler`")
    with client:
        yield client.get_executor(pure=False)


def _show(console: Console, done: Sequence[Processed]) -> None:
    table = Fitted(box=None)
    for name in ("recording", "images", "accepted", "vetoed", "errored", "images/s", "output"):
        table.add_column(name, justify="left" if name in ("recording", "output") else "right", overflow="fold")
    for one in done:
        books = one.status.books
        rate = books.complete / one.seconds if one.seconds else 0.0
        numbers = (books.expected, books.accepted, books.vetoed, books.errored)
        output = f"{one.prefix}_master.h5" if one.prefix else ""
        table.add_row(one.recording, *(f"{number}" for number in numbers), f"{rate:.0f}", output)
    print_table(console, table)
