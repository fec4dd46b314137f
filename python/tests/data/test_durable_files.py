# SPDX-License-Identifier: Apache-2.0
"""Files that get their name when they are complete: their content is on the disk before, and their name afterwards, so that a power failure leaves
either the old or the new file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rashpa.data.files.private_file import put_private
from rashpa.data.files.regular_file import put_file, write_named
from rashpa.data.parts.made_hdf5 import made_hdf5
from rashpa.data.parts.staged_files import staged_file, staged_files


class Disk:
    """Records a process's disk operations, file by file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: dict[int, bytes] = {}
        self.named: list[tuple[Path, bytes | None]] = []
        self.safe = 0
        sync, rename, replace = os.fsync, os.rename, os.replace

        def fsync(file: int) -> None:
            sync(file)
            place = Path(f"/proc/self/fd/{file}")
            if place.is_dir():
                self.safe = len(self.named)
            else:
                self.synced[os.fstat(file).st_ino] = place.read_bytes()

        def name(call: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
            def renamed(old: Any, new: Any) -> None:
                self.named.append((Path(new), self.synced.get(Path(old).stat().st_ino)))
                call(old, new)

            return renamed

        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(os, "rename", name(rename))
        monkeypatch.setattr(os, "replace", name(replace))


def _put(path: Path) -> None:
    put_file(path, b"report")


def _write_named(path: Path) -> None:
    write_named(path, b"table")


def _put_private(path: Path) -> None:
    os.close(put_private(path, b"journal"))


def _stage_one(path: Path) -> None:
    with staged_file(path) as made:
        made.write_bytes(b"peaks")


def _make_hdf5(path: Path) -> None:
    with made_hdf5(path) as file:
        file["x"] = 3


def _stage_a_run(path: Path) -> None:
    with staged_files(path) as staged:
        for name in ("_data_000001.h5", "_master.h5"):
            staged.prefix.with_name(f"{staged.prefix.name}{name}").write_bytes(name.encode())
        staged.publish()


@pytest.mark.parametrize("make", [_put, _write_named, _put_private, _stage_one, _make_hdf5, _stage_a_run])
def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    disk = Disk(monkeypatch)
    make(tmp_path / "made")
    assert disk.named
    assert [(path, path.read_bytes()) for path, _ in disk.named] == disk.named
    assert disk.safe == len(disk.named)
