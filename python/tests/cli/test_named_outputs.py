# SPDX-License-Identifier: Apache-2.0
"""Files that somebody has named for a command to write, and what may lie there: nothing is waited for, no link is written through, no device goes."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rashpa.testing.run_file import small_run
from rashpa.testing.stored_run import make_run

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
WRITERS = {
    "png": ["inspect", "run_master.h5", "--png", "OUT"],
    "hits": ["inspect", "run_master.h5", "--hits", "OUT"],
    "svg": ["plan", "run.toml", "--svg", "OUT"],
}
VICTIM = b"of somebody else"


def pipe(name: Path, victim: Path) -> None:
    os.mkfifo(name)


def link(name: Path, victim: Path) -> None:
    name.symlink_to(victim)


def link_to_nothing(name: Path, victim: Path) -> None:
    name.symlink_to(victim.with_name("nothing"))


def second_name(name: Path, victim: Path) -> None:
    name.hardlink_to(victim)


def socket_file(name: Path, victim: Path) -> None:
    os.mknod(name, stat.S_IFSOCK | 0o600)


def write(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *("made" if word == "OUT" else word for word in words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_run(tmp_path)
    (tmp_path / "run.toml").write_text(small_run())
    (tmp_path / "victim").write_bytes(VICTIM)
    return tmp_path


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("lay", [pipe, link, link_to_nothing, second_name, socket_file])
def test_what_lies_at_the_name_goes_and_nothing_behind_it(
    folder: Path, writer: str, lay: Callable[[Path, Path], None]
) -> None:
    lay(folder / "made", folder / "victim")
    done = write(folder, WRITERS[writer])
    assert done.returncode == 0, done.stderr
    assert stat.S_ISREG((folder / "made").lstat().st_mode)
    assert (folder / "made").read_bytes()[:4] in (b"\x89PNG", b"<?xm")
    assert (folder / "victim").read_bytes() == VICTIM
    assert not (folder / "nothing").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone makes devices, and has the right to replace them")
@pytest.mark.parametrize("writer", WRITERS)
def test_a_device_stays_one(folder: Path, writer: str) -> None:
    null = os.makedev(1, 3)
    try:
        os.mknod(folder / "made", stat.S_IFCHR | 0o666, null)
    except PermissionError:
        pytest.skip("no devices can be made here")
    done = write(folder, WRITERS[writer])
    assert done.returncode != 0
    assert "it is a device, which stays as it is" in done.stderr
    assert (folder / "made").stat().st_rdev == null


@pytest.mark.parametrize("writer", WRITERS)
def test_a_folder_is_said_to_be_one(folder: Path, writer: str) -> None:
    (folder / "made").mkdir()
    done = write(folder, WRITERS[writer])
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "made" in done.stderr
