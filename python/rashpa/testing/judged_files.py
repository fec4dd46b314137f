# SPDX-License-Identifier: Apache-2.0
"""Checks every NXmx file that a test writes with `rashpa check`, after the test."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import h5py

_MOST_OF_MODULE = 100  # 18 s of a processor for the 1061 files of all tests
_MOST_ENTRIES = 3000  # of folders that are looked through

_TAKEN_AWAY = ", a part of "
"""Part of the message about an absent file to which another one leads."""

EXEMPT = {
    "python/tests/cli/test_check.py": "spoils files, to see what is said of them",
    "python/tests/data/test_combined.py": "makes small masters by hand, and takes parts away",
    "python/tests/data/test_frames_file.py": "makes small masters by hand",
    "python/tests/data/test_reader.py": "makes small masters by hand, and takes parts away",
    "python/tests/data/test_joined_run.py": "takes parts of runs away",
    "python/tests/node/test_stream_start.py": "leaves out what a stream should say",
    "python/tests/node/test_process_facts.py": "its source contradicts itself, and what is made from it does",
    "tests/chain/test_stored_metadata.py": "its source contradicts itself, and what is made from it does",
    "tests/chain/test_groups.py": "kills receivers, whose files others complete",
    "tests/chain/test_attach.py": "kills managers",
    "tests/chaos/test_runs.py": "disturbs runs in every way",
    "tests/files": "damages files",
}
"""Files of tests, or folders of them, that are left out, and why."""


def wrong_files(folders: list[Path]) -> list[str]:
    """Return a line for each fault of our complete files below these folders."""
    return [line for file in islice(_masters(folders), _MOST_OF_MODULE) for line in _findings(file)]


def exempt(module: Path) -> bool:
    """Return True when the files of this test module are not checked."""
    name = module.as_posix()
    return any(name.endswith(one) or f"/{one}/" in f"/{name}" for one in EXEMPT)


def _masters(folders: list[Path]) -> Iterator[Path]:
    entries = 0
    for folder in folders:
        for place, inside, names in os.walk(folder):
            entries += len(names) + len(inside)
            if entries > _MOST_ENTRIES:
                return
            yield from (Path(place) / name for name in sorted(names) if _is_named_so(name))


def _is_named_so(name: str) -> bool:
    return name.endswith("_master.h5") and not name.endswith("_raw_master.h5")


def _findings(file: Path) -> Iterator[str]:
    """Yield the faults of a receiver's complete file and its parts. An unreadable file has none here, because its own tests report it."""
    from rashpa.data.base.bad_file import BadFileError
    from rashpa.data.making.nxmx_check import check_entries
    from rashpa.data.stored.combined.combined import is_combined

    try:
        if file.is_symlink() or not file.is_file() or not (is_combined(file) or _holds_images(file)):
            return
        checked = check_entries(file, ())
    except (BadFileError, OSError):
        return
    if any(_TAKEN_AWAY in found.text for one in checked.values() for found in one.findings):
        return  # a test has moved or removed files that belong together
    for name, one in checked.items():
        yield from (f"{file}: {name}: {found}" for found in one.findings if found.level == "wrong")


def _holds_images(file: Path) -> bool:
    """Return True when the file is ours and complete, and is no raw file."""
    with h5py.File(file) as opened:
        ours = opened.get("entry/rashpa")
        return isinstance(ours, h5py.Group) and "books" in ours and "raw" not in ours
