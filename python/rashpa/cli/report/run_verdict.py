# SPDX-License-Identifier: Apache-2.0
"""Runs `rashpa check` on the files of a run, for its report."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rashpa.control.books.outcome import Outcome

_MOST_FILES = 32
_SECONDS = 5.0
_MOST_FINDINGS = 20


def judged_files(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the findings for each NXmx file of the run on this machine: the number of images, faults, oddities. Skip files once the time for checks
    is used up."""
    began = time.monotonic()
    found = []
    for file in _files(outcome)[:_MOST_FILES]:
        if time.monotonic() - began > _SECONDS:
            break
        found.append(judged_file(file))
    return found


def verdict_cautions(judged: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each file with a fault."""
    for one in judged:
        if wrong := one["wrong"]:
            more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            yield f"{one['file']}: rashpa check: {wrong[0]}{more}"


def _files(outcome: Outcome) -> list[Path]:
    nodes = {receiver.name: receiver.node for receiver in outcome.plan.receivers}
    here = {
        buffer.section.name
        for buffer in outcome.plan.buffers
        if nodes[buffer.receiver] == "local" and any(sink.kind == "hdf5" for sink in buffer.section.sink)
    }
    files = [Path(buffer.file) for buffer in outcome.buffers if buffer.file and buffer.name in here]
    leading = [file.parent / f"{outcome.plan.file.run.name}_master.h5" for file in files[:1]]
    return [file for file in dict.fromkeys([*files, *leading]) if file.is_file()]


def judged_file(file: Path) -> dict[str, Any]:
    """Return the findings on one file. A file that cannot be read counts as faulty."""
    from rashpa.data.base.bad_file import BadFileError
    from rashpa.data.making.nxmx_check import check_entries  # with HDF5, which no run waits for before it begins

    try:
        checked = check_entries(file, ())
    except (BadFileError, OSError, MemoryError) as error:
        return {"file": str(file), "images": 0, "wrong": [str(error)[:500]], "odd": []}
    said: dict[str, list[str]] = {"wrong": [], "odd": []}
    for name, one in checked.items():
        for finding in one.findings:
            where = finding.where if len(checked) == 1 else finding.where.replace("/entry", f"/{name}", 1)
            said[finding.level].append(f"{where}: {finding.text}")
    lists = {level: texts[:_MOST_FINDINGS] for level, texts in said.items()}
    return {"file": str(file), "images": sum(one.images for one in checked.values()), **lists}
