# SPDX-License-Identifier: Apache-2.0
"""Finds the masters of a run from the name of a file, a folder or a report."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rashpa.data.files.file_names import natural
from rashpa.data.files.regular_file import json_of, read_regular
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.combined.combined import is_combined, masters_of

_REPORT = "report.json"
_MOST_BYTES = 64 << 20


def masters_at(where: Path, follow: Iterable[Path] = ()) -> list[Path]:
    """Return the masters for a master, a combined master, a folder or a report. Linked masters must be in its folder, or in those of `follow`. Raise
    StoredRunError when there are none."""
    if where.is_dir():
        report = where / _REPORT
        return _of_report(report) if report.is_file() else _of_folder(where)
    if where.suffix == ".json":
        return _of_report(where)
    return masters_of(where, follow) or [where]


def report_at(where: Path) -> dict[str, Any] | None:
    """Return the report that `where` contains or is, None when there is no readable one."""
    report = where / _REPORT if where.is_dir() else where
    if report.suffix != ".json" or not report.is_file():
        return None
    try:
        said = json_of(read_regular(report, _MOST_BYTES))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None


def _of_folder(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.glob("*_master.h5"), key=natural) if not is_combined(path)]
    if not found:
        raise StoredRunError(
            f"{folder}: holds no _master.h5 file; its report says where the files are: give the folder of the report"
        )
    return found


def _of_report(report: Path) -> list[Path]:
    try:
        said: Any = json_of(read_regular(report, _MOST_BYTES))
        receivers = {one["name"]: one["node"] for one in said.get("receivers", ())}
        files = [
            (Path(one["file"]), receivers.get(one.get("receiver", ""), "local"))
            for one in said["buffers"]
            if one["file"]
        ]
        base = Path(said["run"]["file"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoredRunError(f"{report}: is no report of a run ({error})") from error
    if not files:
        raise StoredRunError(f"{report}: the run {said['run']['name']} has stored no file; add a sink hdf5 or raw")
    found = [path for file, _ in files if (path := _reached(file, report, base)) is not None]
    if not found:
        places = ", ".join(f"{file} ({node})" for file, node in files)
        raise StoredRunError(
            f"{report}: none of its files can be reached from here: {places}; look there, or give the folder to which they were moved"
        )
    return found


def _reached(file: Path, report: Path, run_file: Path) -> Path | None:
    """Return the file that the report names. Search it at its path, from the folder of the run file, and in the folders around the report. Return
    None when it is not found."""
    tries = [file] if file.is_absolute() else [file, run_file.parent / file, report.parent / file]
    tries += [report.parent / file.name, report.parent.parent / file.name]
    return next((path for path in tries if path.is_file()), None)
