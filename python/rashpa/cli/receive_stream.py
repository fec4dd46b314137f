# SPDX-License-Identifier: Apache-2.0
"""`rashpa receive-stream ADDRESS OUT`: images that others send, into NXmx files."""

import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from rashpa.cli.output_check import folder_trouble
from rashpa.node.engine import EngineError
from rashpa.node.receive_stream import Received, StreamFiles, read_recording, receive

_NOT_WHOLE, _BAD_INPUT, _MISSED, _INTERRUPTED = 1, 2, 3, 130


def receive_stream(
    address: Annotated[
        str,
        typer.Argument(
            help="tcp://ADDRESS:PORT of the sender, without a port 31001; or a recording: a folder of *.cbor, or a file."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="What the names of the files begin with: OUT_master.h5 …")],
    pattern: Annotated[
        Literal["push", "pub"], typer.Option(help="How the sender sends: to one of its clients, or to all of them.")
    ] = "push",
    series: Annotated[
        int, typer.Option(min=0, help="Series to receive; 0: until Ctrl-C. Other than 1: files OUT_0001_master.h5 ….")
    ] = 1,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.0, help="Seconds without a message after which it ends; waits for ever if not given."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over files of the same name.")] = False,
    threads: Annotated[int, typer.Option(min=1, max=64, help="That compress.")] = 1,
) -> None:
    """Receive images that a detector, or a receiver with a sink stream2, sends as DECTRIS Stream V2, and write NXmx files.

    What somebody has recorded is read in the same way: a folder with a message in each file *.cbor, in the order of their names, or one file with all of them behind
    each other. Each channel of a series has files of its own. At the end it says how many images came, and which it missed. Exit code 0 when a series came
    whole; 1 when nothing came in time, or its start or end did not; 2 for bad input, or when files cannot be written; 3 when images were missed or
    could not be read; 130 after Ctrl-C.
    """
    if folder := folder_trouble(out.parent):
        _refuse(f"{out.parent}: {folder}; choose another folder")
    recording = Path(address)
    endpoint = address if "://" in address else f"tcp://{address}"
    files = StreamFiles(out, replace=replace, threads=threads, numbered=series != 1)
    if "://" not in address and recording.exists():
        _read(recording, files, series)
    if endpoint.startswith("tcp://") and not endpoint.rpartition(":")[2].isdigit():
        endpoint += ":31001"
    interrupted = in_time = False
    sys.stdout.write(f"waiting for images of {endpoint}\n")
    sys.stdout.flush()
    try:
        in_time = receive(endpoint, files, pattern=pattern, series=series, timeout_s=timeout)
    except KeyboardInterrupt:
        interrupted = True
    except EngineError as error:
        _close(files)
        _refuse(str(error))
    _close(files)
    _show(files)
    if interrupted:
        raise typer.Exit(_INTERRUPTED)
    raise typer.Exit(_code(files.done, in_time=in_time))


def _read(recording: Path, files: StreamFiles, series: int) -> NoReturn:
    try:
        read_recording(recording, files, series)
    except EngineError as error:
        _close(files)
        _refuse(str(error))
    _close(files)
    _show(files)
    raise typer.Exit(_code(files.done, in_time=True))


def _close(files: StreamFiles) -> None:
    try:
        files.close()
    except EngineError as error:
        _complain(str(error))


def _code(done: list[Received], *, in_time: bool) -> int:
    if not in_time or not done or not all(one.started and one.ended for one in done):
        return _NOT_WHOLE
    return 0 if all(one.whole for one in done) else _MISSED


def _show(files: StreamFiles) -> None:
    for one in files.done:
        missed = f", missed {one.missed}" if one.missed else ""
        late = f", {one.late} came behind later ones" if one.late else ""
        refused = f", {one.refused} messages could not be read" if one.refused else ""
        where = ", ".join(one.files) or "no file"
        sys.stdout.write(f"series {one.series_id}: {one.images} images{missed}{late}{refused}: {where}\n")
        for trouble in one.troubles:
            _complain(f"series {one.series_id}: {trouble}")
    for text in files.refused:
        _complain(text)
    for name, count in files.unknown.items():
        _complain(f"{count} messages of type {name!r} were passed over")
    if not files.done:
        _complain("no series came; is the address right, and does the sender send?")


def _complain(text: str) -> None:
    sys.stderr.write(f"rashpa receive-stream: {text}\n")


def _refuse(text: str) -> NoReturn:
    _complain(text)
    raise typer.Exit(_BAD_INPUT)
