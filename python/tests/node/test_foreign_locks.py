# SPDX-License-Identifier: Apache-2.0
"""Locks of another user on files that he may only read: they prevent no repair, no next run and no ring, and do not pretend a living writer."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.cli.main import app  # noqa: E402
from rashpa.control.books.outcome import Progress  # noqa: E402
from rashpa.control.nodes.launcher import LocalLauncher  # noqa: E402
from rashpa.control.nodes.local_node import local_command  # noqa: E402
from rashpa.control.plan.run_plan import load_plan  # noqa: E402
from rashpa.control.run.manager import Manager  # noqa: E402
from rashpa.data.files.writer_lock import has_writer, take_writer_lock  # noqa: E402
from rashpa.data.stored.reader import open_run  # noqa: E402
from rashpa.testing.run_file import small_run  # noqa: E402

NOBODY = 65534
LOCKS = {
    "flock shared": "fcntl.flock(file, fcntl.LOCK_SH)",
    "flock exclusive": "fcntl.flock(file, fcntl.LOCK_EX)",
    "read lock of the process": "fcntl.lockf(file, fcntl.LOCK_SH)",
    "read lock of the description": "fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 0, 0, 0))",
}
HOLD = """\
import fcntl, os, struct, sys
if os.geteuid() == 0:
    os.setgroups([]), os.setgid({nobody}), os.setuid({nobody})
for path in sys.argv[1:]:
    file = os.open(path, os.O_RDONLY)
    {lock}
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held(lock: str, *paths: Path) -> Iterator[None]:
    """Hold locks as another user during the context, if there is one."""
    command = [sys.executable, "-I", "-S", "-c", HOLD.format(lock=lock, nobody=NOBODY), *map(str, paths)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.communicate()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that every user can read."""
    with tempfile.TemporaryDirectory(prefix="rashpa-locks-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def written(progress: Progress) -> int:
    """Return the number of images stored so far."""
    status = progress.receivers.get("receiver")
    return status.destination.buffers[0].books.written if status is not None and status.destination is not None else 0


def manager_of(folder: Path, frames: int, rate: float, listen: list[Manager]) -> Manager:
    def kill(progress: Progress) -> None:
        if listen and written(progress) > 20:
            os.kill(listen[0].local_nodes["receiver"].pid, signal.SIGKILL)

    run = {"name": "locks", "frames": frames, "output": str(folder / "out"), "existing": "replace"}
    (folder / "run.toml").write_text(small_run(run=run, detector={"rate_hz": rate}))
    return Manager(load_plan(folder / "run.toml"), kill, launcher=LocalLauncher(local_command))


@pytest.fixture(scope="module")
def dead() -> Iterator[Path]:
    """Yield the files of a run whose receiver was killed."""
    with tempfile.TemporaryDirectory(prefix="rashpa-locks-") as name:
        managers: list[Manager] = []

        async def run() -> None:
            managers.append(manager_of(Path(name), 100_000, 200.0, managers))
            await managers[0].run()

        asyncio.run(run())
        assert (Path(name) / "out" / "locks_full_master.journal").exists()
        yield Path(name) / "out"


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_whoever_may_only_read_keeps_nobody_from_repairing(folder: Path, dead: Path, lock: str) -> None:
    out = folder / "out"
    shutil.copytree(dead, out)
    journal = out / "locks_full_master.journal"
    journal.chmod(0o644)
    with held(lock, journal):
        inspected = CliRunner().invoke(app, ["inspect", str(out / "locks_full_master.h5")])
        assert "ended before it could complete" in inspected.stderr
        repaired = CliRunner().invoke(app, ["repair", str(out / "locks_full")])
    assert repaired.exit_code == 3, repaired.output
    with open_run(out / "locks_full_master.h5") as run:
        assert len(run) > 20
    assert not list(out.glob("*journal*"))


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_whoever_may_only_read_keeps_nobody_from_the_next_run(folder: Path, dead: Path, lock: str) -> None:
    out = folder / "out"
    shutil.copytree(dead, out)
    journal = out / "locks_full_master.journal"
    staged = out / f"{journal.name}.new"  # of one that was killed before its run began
    shutil.copy(journal, staged)
    for path in (journal, staged):
        path.chmod(0o644)
    with held(lock, journal, staged):
        outcome = asyncio.run(manager_of(folder, 30, 0.0, []).run())
    assert outcome.good, outcome.problem
    with open_run(out / "locks_full_master.h5") as run:
        assert len(run) == 30


def test_a_writer_is_seen_by_all_and_keeps_others_out(folder: Path, dead: Path) -> None:
    out = folder / "out"
    shutil.copytree(dead, out)
    journal = out / "locks_full_master.journal"
    with journal.open("r+b") as writer, journal.open("rb") as reader:
        take_writer_lock(writer.fileno())
        assert has_writer(reader.fileno())
        repaired = CliRunner().invoke(app, ["repair", str(out / "locks_full")])
        assert repaired.exit_code == 2
        assert "is being written by another process" in repaired.stderr
        outcome = asyncio.run(manager_of(folder, 30, 0.0, []).run())
        assert not outcome.good
        assert "is being written by another process" in outcome.problem
        with (
            pytest.raises(OSError, match=r"Resource temporarily unavailable|Permission denied"),
            journal.open("r+b") as other,
        ):
            take_writer_lock(other.fileno())
    assert journal.exists()
