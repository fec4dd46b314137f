# SPDX-License-Identifier: Apache-2.0
"""Makes the last lines of a run: the files with images, three lines of code that open one, and the command that completes unfinished files."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.model import PlannedBuffer
from rashpa.control.telegrams.part_orders import ENDINGS
from rashpa.data.parts.older_files import JOURNAL, MASTER


def planned_file(outcome: Outcome, buffer: PlannedBuffer) -> str:
    """Return the master file of a buffer by the plan, empty when none of its sinks stores images."""
    kept = [ENDINGS[sink.kind] for sink in buffer.section.sink if sink.kind in ENDINGS]
    run = outcome.plan.file.run
    return f"{run.folder}/{run.name}_{buffer.section.name}{min(kept)}{MASTER}" if kept else ""


def ways_to_images(outcome: Outcome) -> Iterator[str]:
    """Yield the lines for people; nothing when no image was stored."""
    stored: list[str] = []
    nodes = {receiver.name: receiver for receiver in outcome.plan.receivers}
    statuses = {status.name: status for status in outcome.buffers}
    unfinished: list[str] = []
    first = ""
    for buffer in outcome.plan.buffers:
        receiver = nodes[buffer.receiver]
        here = receiver.node == "local"
        status = statuses.get(buffer.section.name)
        file = (status.file if status else "") or planned_file(outcome, buffer)
        if not file:
            continue
        if here and not _is_complete(file):
            prefix = file.removesuffix(MASTER)
            unfinished += [prefix] if Path(prefix + JOURNAL).exists() else []
        elif status is not None and status.books.written:
            shown = _short(file) if here else f"{file} on the machine of {receiver.label}"
            stored.append(f"{shown} ({status.books.written:,})")
            first = first or (_short(file) if here else "")
    if stored:
        yield f"images: {', '.join(stored)}"
    if first:
        rashpa, python = typed("rashpa"), typed("python3")
        yield f"  {rashpa} inspect {shlex.quote(first)}"
        yield f"  {rashpa} inspect {shlex.quote(first)} --output image.png"
        code = f"import rashpa; print(rashpa.open({json.dumps(first, ensure_ascii=False)}).image(0))"
        yield f"  {python} -c {shlex.quote(code)}"
    for prefix in unfinished:
        yield f"not completed: {_short(prefix + MASTER)}; `rashpa repair {shlex.quote(_short(prefix))}` makes it of what is there"


def typed(program: str) -> str:
    """Return the text with which a shell starts a program of this Python installation: its name, or its path when PATH does not lead to it."""
    folder = Path(sys.executable).parent
    found = shutil.which(program)
    if not (folder / program).exists() or (found and Path(found).parent == folder):
        return program
    return shlex.quote(_short(str(folder / program)))


def _is_complete(file: str) -> bool:
    """Return True when the receiver has completed the file. A journal that still exists suggests that it has not, except for raw files, which keep
    their journals."""
    if not Path(file).exists():
        return False
    if not Path(file.removesuffix(MASTER) + JOURNAL).exists():
        return True
    from rashpa.data.parts.run_parts import StoredRunError
    from rashpa.data.stored.reader import open_run  # HDF5, for runs that leave journals

    try:
        open_run(file).close()
    except StoredRunError:
        return False
    return True


def _short(file: str) -> str:
    """Return a path relative to this folder when the file is below it, otherwise unchanged."""
    path = Path(os.path.normpath(file))
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
