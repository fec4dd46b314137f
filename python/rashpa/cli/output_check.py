# SPDX-License-Identifier: Apache-2.0
"""Checks before a run starts whether its output can be written, as far as this machine can know."""

import os
from collections.abc import Iterator
from pathlib import Path

from rashpa.control.plan.model import Plan
from rashpa.control.telegrams.part_orders import ENDINGS
from rashpa.data.parts.older_files import older_files


def folder_trouble(folder: Path) -> str:
    """Return the reason why nothing can be written into a folder, which may not exist yet; empty when writing is possible."""
    nearest = folder.absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        return f"{nearest} is a file, not a folder"
    return "" if os.access(nearest, os.W_OK | os.X_OK) else f"no permission to write in {nearest}"


def output_problems(plan: Plan) -> Iterator[str]:
    """Yield a line for each output that cannot be written, of the receivers that the run starts on this machine."""
    run = plan.file.run
    local = {receiver.name for receiver in plan.receivers if receiver.node == "local"}
    names = [
        buffer.section.name
        for buffer in plan.buffers
        if buffer.receiver in local and any(sink.kind in ENDINGS for sink in buffer.section.sink)
    ]
    if not names:
        return
    if trouble := folder_trouble(run.folder):
        yield f"{plan.source.where(('run', 'output'))}: {trouble}; choose another"
        return
    if run.existing == "replace" or not run.folder.is_dir():
        return
    for name in (name + ending for name in names for ending in ENDINGS.values()):
        if old := older_files(run.folder / f"{run.name}_{name}"):
            yield (
                f"{plan.source.where(('run', 'name'))}: {old[0]} exists; move it, choose another run.name or run.output, or set "
                'run.existing = "replace"'
            )
