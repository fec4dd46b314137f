# SPDX-License-Identifier: Apache-2.0
"""Limits of a process, and a missing folder: each is named, with its value, in place of a traceback."""

import asyncio
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rashpa.control.nodes.local_node import LocalNode
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.orders.grant import Grant
from rashpa.data.base.limit_said import LEAST_MIB, limit_behind, with_limit
from rashpa.testing.run_file import small_run

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]


def said_by(words: list[str], folder: Path, before: Callable[[], object]) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False, preexec_fn=before
    )
    said = " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in said
    return done.returncode, said


def set_limit(which: int, value: int) -> Callable[[], object]:
    return lambda: resource.setrlimit(which, (value, value))


@pytest.mark.parametrize(
    "words", [["run", "run.toml"], ["receiver"], ["emulator"], ["inspect", "x"], ["dataset", "make", "x"]]
)
def test_a_working_folder_that_is_gone_is_said(tmp_path: Path, words: list[str]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code, said = said_by(words, gone, gone.rmdir)
    assert (code, said) == (2, "rashpa: the folder that it was started in is gone: `cd` to one that is there")


@pytest.mark.whole
def test_a_limit_of_files_is_named_with_its_value(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(small_run(run={"name": "n", "frames": 4000}))
    code, said = said_by(["run", "run.toml", "-q"], tmp_path, set_limit(resource.RLIMIT_FSIZE, 128 << 10))
    assert code != 0
    assert "its files are limited to 128 KiB (ulimit -f)" in said


@pytest.mark.parametrize("words", [["run", "run.toml", "-q"], ["receiver"], ["emulator"], ["inspect", "x"], ["--help"]])
@pytest.mark.parametrize("mib", [48, 96, 160, 230, 400, LEAST_MIB - 1])
def test_an_address_space_that_is_too_small_is_refused_with_its_value(
    tmp_path: Path, words: list[str], mib: int
) -> None:
    (tmp_path / "run.toml").write_text(small_run(run={"name": "n", "frames": 4}))
    code, said = said_by(words, tmp_path, set_limit(resource.RLIMIT_AS, mib << 20))
    text = (
        f"rashpa: its address space is limited to {mib} MiB (ulimit -v), and a command needs 1024 MiB; raise that limit"
    )
    assert (code, said) == (2, text)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.toml"]


def test_the_least_address_space_is_enough_for_help(tmp_path: Path) -> None:
    code, said = said_by(["--help"], tmp_path, set_limit(resource.RLIMIT_AS, LEAST_MIB << 20))
    assert code == 0
    assert said.startswith("Usage: ")


def test_a_limit_of_processes_is_named_with_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_words: str, **_options: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(resource, "getrlimit", lambda _which: (77, 77))
    monkeypatch.setattr(asyncio, "create_subprocess_exec", refused)
    with pytest.raises(NodeError, match=r"limited to 77 processes and threads \(ulimit -u\); raise that limit"):
        asyncio.run(LocalNode.start("receiver", ("true",), Grant("secret")))


def test_an_error_that_no_limit_is_behind_names_none() -> None:
    assert (
        limit_behind(OSError(errno.ENOENT, "no"))
        == limit_behind(RuntimeError("no"))
        == limit_behind(ImportError("no"))
        == ""
    )
    assert with_limit(OSError(errno.ENOENT, "no")) == "no"
    assert "open files (ulimit -n)" in with_limit(OSError(errno.EMFILE, "Too many open files"))
    assert "ulimit" not in with_limit(RuntimeError())
