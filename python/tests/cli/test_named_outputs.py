# SPDX-License-Identifier: Apache-2.0
"""Devices and folders with the names of files that commands write: they are not replaced."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rashpa.data.files.regular_file import put_file
from rashpa.data.parts.staged_files import staged_file
from rashpa.testing.run_file import small_run
from rashpa.testing.stored_run import make_run

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
WRITERS = {
    "png": ["inspect", "run_master.h5", "--output", "OUT"],
    "hits": ["inspect", "run_master.h5", "--hits", "OUT"],
    "svg": ["plan", "run.toml", "--output", "OUT"],
}


def write(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *("made" if word == "OUT" else word for word in words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_run(tmp_path)
    (tmp_path / "run.toml").write_text(small_run())
    return tmp_path


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone makes devices, and has the right to replace them")
@pytest.mark.parametrize("writer", WRITERS)
def test_a_device_stays_one(folder: Path, writer: str) -> None:
    null = os.makedev(1, 3)
    try:
        os.mknod(folder / "made", stat.S_IFCHR | 0o666, null)
    except PermissionError:
        pytest.skip("no devices can be made here")
    done = write(folder, WRITERS[writer])
    assert done.returncode == 0, done.stderr
    assert (folder / "made").stat().st_rdev == null


def test_a_link_to_a_device_stays_where_a_user_names_it(tmp_path: Path) -> None:
    path = tmp_path / "name"  # as /dev/stdout is one
    path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match="stays as it is") as error, staged_file(path):
        raise AssertionError("there is no place")
    assert error.value.filename == str(path)
    assert path.is_symlink()
    assert [one.name for one in tmp_path.iterdir()] == ["name"]


def test_files_that_are_made_beside_their_place_replace_no_device() -> None:
    with pytest.raises(OSError, match="it is a device"), staged_file(Path("/dev/null")):
        raise AssertionError("there is no place")
    with pytest.raises(OSError, match="it is a device"):
        put_file(Path("/dev/null"), b"")


@pytest.mark.parametrize("writer", WRITERS)
def test_a_folder_is_said_to_be_one(folder: Path, writer: str) -> None:
    (folder / "made").mkdir()
    done = write(folder, WRITERS[writer])
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "made" in done.stderr
