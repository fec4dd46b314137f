# SPDX-License-Identifier: Apache-2.0
"""Opens a stored run from any file that links to it."""

import warnings
from collections.abc import Iterable
from pathlib import Path

from rashpa.data.files.file_names import expanded
from rashpa.data.files.hdf5.files import folders_of
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.combined.combined import is_combined, left_out_in, parts_in
from rashpa.data.stored.joined_run import JoinedRun, open_parts
from rashpa.data.stored.reader import Run, open_run


def opened(file: Path | str) -> Run | JoinedRun | dict[str, Run | JoinedRun]:
    """Open the run of a master, one joined run for the members of a group, or a dict of runs by the name of the buffer. Images of lost masters are
    absent; a run with no remaining master raises an error when accessed. Warn of masters that the file lacks because their receivers died. Raise
    StoredRunError."""
    path = Path(expanded(str(file)))
    if not is_combined(path):
        return open_run(path)
    for name, why in left_out_in(path).items():
        warnings.warn(f"{path}: it lacks the images of {name}: {why}", stacklevel=3)
    parts = open_parts(path)
    if not parts and not parts.gone:
        raise StoredRunError(f"{path}: it leads to no file that can be read; copy the files to which it leads, too")
    return next(iter(parts.values())) if len(parts) == 1 and not parts.gone else parts


def open_one(path: Path, follow: Iterable[Path] = ()) -> Run | JoinedRun:
    """Open the one run that a file holds or links to, with all of its masters: for callers that need every image of one buffer. Raise StoredRunError
    that names the files when there are several buffers, or when masters are incomplete."""
    folders = folders_of(path, follow)
    if not is_combined(path):
        return open_run(path, folders=folders)
    masters = parts_in(path, follow)
    if len(masters) > 1:
        raise StoredRunError(f"{path}: {leads_to(masters)}; give the file of one of them")
    found = open_parts(path, folders=folders, whole=True)
    if not found:
        raise StoredRunError(f"{path}: it leads to no file that can be read; copy the files to which it leads, too")
    return next(iter(found.values()))


def leads_to(masters: dict[str, list[Path]]) -> str:
    """Return the files of several buffers to which a file links, as text."""
    names = ", ".join(f"{name} ({', '.join(one.name for one in many)})" for name, many in masters.items())
    return f"it leads to several buffers: {names}"
