# SPDX-License-Identifier: Apache-2.0
"""`rashpa receive-stream ADDRESS --output OUT`: stores images of other senders in NXmx files."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from rashpa.cli.output_check import folder_trouble
from rashpa.cli.teller import AsJson, OutputBefore, Quiet, Teller, output_of
from rashpa.data.base.books import all_of
from rashpa.data.base.exit_code import ExitCode
from rashpa.node.engine.engine import EngineError
from rashpa.node.offline.receive_stream import StreamFiles, read_recording, receive
from rashpa.node.offline.received import Received


def receive_stream(
    address: Annotated[
        str,
        typer.Argument(
            help="tcp://ADDRESS:PORT of the sender, without a port 31001; or a recording: a folder of *.cbor, or a file."
        ),
    ],
    before: OutputBefore = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Beginning of the files' names: OUT_master.h5 …")
    ] = None,
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
    threads: Annotated[int, typer.Option(min=1, max=64, help="Threads that compress.")] = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Receive images that a detector, or a receiver with a sink stream2, sends as DECTRIS Stream V2, and write NXmx files.

    A recording is read in the same way. It is a folder with a message in each file *.cbor, in the order of their names, or one file with all
    messages. Each channel of a series has files of its own.

    A sender may hold images of an aborted series, whose start message never comes. Such images have files of their own (OUT_without_start_0001…) and
    do not count as a series. The command counts and reports messages of other series than the one that it receives. At the end it reports the
    numbers of images that came, that it missed, and that never came to the sender. It also names the parts of the start message that the files lack.
    """
    tell = Teller("receive-stream", as_json, quiet)
    out = output_of(tell, output, before)
    if folder := folder_trouble(out.parent):
        tell.refuse(f"{out.parent}: {folder}; choose another folder")
    recording = Path(address)
    files = StreamFiles(out, replace=replace, threads=threads, numbered=series != 1)
    if "://" not in address and recording.exists():
        in_time, interrupted = _carried_out(tell, files, lambda: _read(recording, files, series))
    else:
        endpoint = _endpoint_of(address)
        tell.say(f"waiting for images of {endpoint}")
        in_time, interrupted = _carried_out(
            tell, files, lambda: receive(endpoint, files, pattern=pattern, series=series, timeout_s=timeout)
        )
    code = ExitCode.INTERRUPTED if interrupted else _code(files.done, in_time=in_time)
    _complain_of(tell, files)
    text = "\n".join(_line_of(one) for one in files.done)
    masters = [master for one in files.done for master in one.files]
    counted = [one for one in files.done if one.started]
    tell.end(text, all_of(one.books for one in counted), masters, code=code, **_facts_of(files))


def _endpoint_of(address: str) -> str:
    endpoint = address if "://" in address else f"tcp://{address}"
    without_port = endpoint.startswith("tcp://") and not endpoint.rpartition(":")[2].isdigit()
    return f"{endpoint}:31001" if without_port else endpoint


def _read(recording: Path, files: StreamFiles, series: int) -> bool:
    read_recording(recording, files, series)
    return True


def _carried_out(tell: Teller, files: StreamFiles, work: Callable[[], bool]) -> tuple[bool, bool]:
    """Do the work and complete the files in any case. Return two flags: all messages came in time, and Ctrl-C ended the work."""
    in_time = interrupted = False
    trouble = ""
    try:
        in_time = work()
    except KeyboardInterrupt:
        interrupted = True
    except EngineError as error:
        trouble = str(error)
    try:
        files.close()
    except EngineError as error:
        if trouble:
            tell.complain(str(error))
        trouble = trouble or str(error)
    if trouble:
        tell.refuse(trouble)
    return in_time, interrupted


def _code(done: list[Received], *, in_time: bool) -> int:
    begun = [one for one in done if one.started]
    if not in_time or not begun or not all(one.ended for one in begun):
        return ExitCode.FAILED
    return ExitCode.GOOD if all(one.whole for one in begun) else ExitCode.NOT_WHOLE


def _line_of(one: Received) -> str:
    missed = f", missed {one.missed}" if one.missed else ""
    before = f", {one.never_sent} never came to the sender" if one.never_sent else ""
    before += f", {one.spoilt} it could not use" if one.spoilt else ""
    late = f", {one.late} came behind later ones" if one.late else ""
    refused = f", {one.refused} messages could not be read" if one.refused else ""
    return f"series {one.series_id}: {one.images} images{missed}{before}{late}{refused}: {', '.join(one.files) or 'no file'}"


def _complain_of(tell: Teller, files: StreamFiles) -> None:
    """Report everything besides image counts: missing parts of start messages, and messages that were not stored."""
    for one in files.done:
        for text in (*one.notes, *(() if one.started else one.troubles)):
            tell.complain(f"series {one.series_id}: {text}")
    for text in files.refused:
        tell.complain(text)
    for (number, unique_id), count in files.strays.items():
        tell.complain(f"{count} messages of series {number} {unique_id} came beside another one, and are not stored")
    for name, count in files.unknown.items():
        tell.complain(f"{count} messages of type {name!r} were passed over")
    if not files.done:
        tell.complain("no series came; check the address, and that the sender sends")


def _facts_of(files: StreamFiles) -> dict[str, Any]:
    """Return the facts that `--json` prints beside the books."""
    strays = [
        {"series_id": number, "unique_id": unique_id, "messages": count}
        for (number, unique_id), count in files.strays.items()
    ]
    series = [asdict(one) | {"whole": one.whole, "books": one.books.as_json()} for one in files.done]
    return {"series": series, "strays": strays, "unknown": files.unknown, "refused": files.refused}
