# SPDX-License-Identifier: Apache-2.0
"""A stored run by any file that leads to it."""

from pathlib import Path

from rashpa.data.combined import is_combined
from rashpa.data.joined_run import JoinedRun, open_parts
from rashpa.data.reader import Run, open_run


def opened(file: Path | str) -> Run | JoinedRun | dict[str, Run | JoinedRun]:
    """The run of a master, one run of the members of a group, or, by their names, those of several buffers. Of masters that are gone the images are absent, or the
    name is an error that says it. RunFileError."""
    path = Path(file)
    if not is_combined(path):
        return open_run(path)
    parts = open_parts(path)
    return next(iter(parts.values())) if len(parts) == 1 and not parts.gone else parts
