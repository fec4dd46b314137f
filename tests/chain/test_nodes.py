# SPDX-License-Identifier: Apache-2.0
"""Tests nodes that run as separate processes: which users may use them, for which orders, and how many connections they accept."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.testing.run_file import run_file
from rashpa.testing.waiting import GUARD_S, eventually

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]


def run_text(output: str, rate_hz: float) -> str:
    return run_file(
        run={"name": "standing", "frames": 400, "output": output},
        detector={"rate_hz": rate_hz},
        buffer={"sink": [{"kind": "hdf5", "images_per_file": 20}]},
    )


@contextlib.contextmanager
def node(role: str, folder: Path, *words: str, token: str = "", most_files: int = 0) -> Iterator[str]:
    """Run a node in `folder` during the context; yield its URL."""
    environment = {key: value for key, value in os.environ.items() if key != "RASHPA_TOKEN"}
    if token:
        environment["RASHPA_TOKEN"] = token
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))) if most_files else None
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*COMMAND, role, "--port", "0", *words],
        cwd=folder,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=environment,
        preexec_fn=limit,
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.communicate(timeout=GUARD_S)


def run(
    folder: Path, nodes: str, token: str | None = None, output: str = "out", rate_hz: float = 0.0
) -> tuple[int, str]:
    """Carry out a run; return exit status and output."""
    (folder / "run.toml").write_text(run_text(output=output, rate_hz=rate_hz) + f"[nodes]\n{nodes}")
    environment = {key: value for key, value in os.environ.items() if key != "RASHPA_TOKEN"}
    if token is not None:
        environment["RASHPA_TOKEN"] = token
    done = subprocess.run(
        [*COMMAND, "run", "run.toml", "-q"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        env=environment,
        check=False,
    )
    return done.returncode, " ".join(f"{done.stdout} {done.stderr}".split())


def refused(folder: Path, nodes: str, token: str | None = None, output: str = "out") -> str:
    """Return the output of a run that must not begin. The command runs in this process; the node is another process."""
    (folder / "run.toml").write_text(run_text(output=output, rate_hz=0.0) + f"[nodes]\n{nodes}")
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, ["run", "run.toml", "-q"], env={"RASHPA_TOKEN": token})
    assert done.exit_code == 2, done.output
    return " ".join(done.output.split())


def test_a_token_of_the_environment_is_for_local_mixed_and_remote_runs(tmp_path: Path) -> None:
    for name in ("local", "mixed", "remote"):
        (tmp_path / name).mkdir()
    with (
        node("receiver", tmp_path / "mixed", token="secret") as one,
        node("receiver", tmp_path / "remote", token="secret") as other,
        node("emulator", tmp_path / "remote", token="secret") as emulator,
    ):
        for name, nodes in (
            ("local", ""),
            ("mixed", f'receiver = "{one}"\n'),
            ("remote", f'receiver = "{other}"\nemulator = "{emulator}"\n'),
        ):
            code, said = run(tmp_path / name, nodes, "secret")
            assert code == 0, said
            assert (tmp_path / name / "out" / "standing_full_master.h5").is_file()
        for token, says in (
            (None, "needs its bearer token"),
            ("wrong", "needs its bearer token"),
            (" ", "RASHPA_TOKEN of the environment is blank"),
        ):
            assert says in refused(tmp_path / "mixed", f'receiver = "{one}"\n', token, "other")


@pytest.mark.parametrize("role", ["emulator", "receiver"])
def test_a_blank_token_starts_no_node(role: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, role, "--port", "0"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        env={**os.environ, "RASHPA_TOKEN": " "},
        check=False,
    )
    assert done.returncode == 2
    assert "RASHPA_TOKEN of the environment is blank" in done.stderr


def test_a_node_writes_and_reads_where_it_may_alone(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "link").symlink_to(there)
    with node("receiver", here) as url:
        for output in (str(there), "../there", "link/deeper", str(tmp_path / "elsewhere")):
            said = refused(here, f'receiver = "{url}"\n', output=output)
            assert "this node may write below" in said
            assert "start it with --write" in said
        assert list(there.iterdir()) == []
        assert not (tmp_path / "elsewhere").exists()
        assert run(here, f'receiver = "{url}"\n')[0] == 0
    with node("receiver", here, "--write", str(there), "--write", str(here)) as url:
        assert run(here, f'receiver = "{url}"\n', output=str(there))[0] == 0
    assert (there / "standing_full_master.h5").is_file()


def test_a_run_loses_no_image_to_more_idle_connections_than_files_may_be_open(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    try:
        with contextlib.ExitStack() as opened:
            urls = [opened.enter_context(node(role, tmp_path, most_files=256)) for role in ("receiver", "emulator")]
            ports = [int(url.rpartition(":")[2]) for url in urls]
            for number in range(1200):
                stranger = opened.enter_context(socket.create_connection(("127.0.0.1", ports[number % 2]), 10.0))
                if number % 3 == 0:
                    stranger.sendall(b"POST /telegram HTTP/1.1\r\n")
            code, said = run(tmp_path, f'receiver = "{urls[0]}"\nemulator = "{urls[1]}"\n', rate_hz=400.0)
            assert code == 0, said
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with h5py.File(tmp_path / "out" / "standing_full_master.h5") as file:
        assert file["/entry/rashpa/books/written"][()] == 400


def test_a_person_frees_a_node(tmp_path: Path) -> None:
    with node("receiver", tmp_path, token="secret") as url:
        for token, code, says in (
            ("secret", 0, "was idle, and is free"),
            ("wrong", 1, "needs its bearer token"),
            ("", 2, "is blank"),
        ):
            done = CliRunner().invoke(app, ["free", url], env={"RASHPA_TOKEN": token})
            assert done.exit_code == code
            assert says in done.output


def ask(url: str, order: str, token: str = "secret") -> tuple[int, str]:
    """Return exit status and output of `rashpa node ORDER URL`, run in this process; the node is another process."""
    done = CliRunner().invoke(app, ["node", order, url], env={"RASHPA_TOKEN": token})
    return done.exit_code, done.output


@contextlib.contextmanager
def endless(folder: Path, nodes: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a manager with an endless run during the context, and yield it once images are written."""
    text = run_text(output="out", rate_hz=200.0).replace("frames = 400", "frames = 1000000")
    (folder / "run.toml").write_text(f"{text}[nodes]\n{nodes}")
    with subprocess.Popen(
        [*COMMAND, "run", "run.toml", "-q"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "RASHPA_TOKEN": "secret"},
    ) as manager:
        try:

            def written() -> bool:
                return any(path.stat().st_size > 50_000 for path in (folder / "out").glob("*_data_*.h5"))

            eventually(lambda: written() or manager.poll() is not None)
            assert manager.poll() is None
            yield manager
        finally:
            manager.kill()


@pytest.mark.usefixtures("ordinary_starts")
def test_nodes_that_a_killed_manager_has_started_end_by_themselves(tmp_path: Path) -> None:
    with endless(tmp_path, "") as manager:
        children = Path(f"/proc/{manager.pid}/task/{manager.pid}/children").read_text().split()
        assert len(children) == 2
        manager.send_signal(signal.SIGKILL)
        manager.wait()
        eventually(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    with h5py.File(tmp_path / "out" / "standing_full_master.h5") as file:
        assert file["/entry/rashpa/books/written"][()] > 0


@pytest.mark.parametrize("order", ["abort", "reset"])
def test_standing_nodes_of_a_killed_manager_are_looked_at_and_ended_by_a_person(tmp_path: Path, order: str) -> None:
    lease = ("--lease", "600")  # the nodes would wait for long
    with (
        node("receiver", tmp_path, *lease, token="secret") as receiver,
        node("emulator", tmp_path, *lease, token="secret") as emulator,
    ):
        with endless(tmp_path, f'receiver = "{receiver}"\nemulator = "{emulator}"\n') as manager:
            manager.send_signal(signal.SIGKILL)
            manager.wait()
            for url, detail in ((receiver, "buffer full: 1000000 images expected"), (emulator, "DTP 0: ")):
                code, said = ask(url, "status")
                assert code == 0, said
                assert "is running, for run standing of " in said
                assert detail in said
                code, said = ask(url, order)
                assert code == 0, said
                assert f"now {'finished' if order == 'abort' else 'idle, and free'}" in said
                code, said = ask(url, "status")
                assert ("is finished, for run standing of" if order == "abort" else "is idle") in said
                if order == "abort":
                    assert "there is nothing to abort" in ask(url, "abort")[1]
                    assert "now idle, and free" in ask(url, "reset")[1]
                code, said = ask(url, "log")
                assert code == 0
                for words in (
                    "listens at",
                    "Claim: the node belongs to run standing",
                    "Abort, forced",
                    "Reset, forced",
                ):
                    assert words in said
                assert "secret" not in said
        with h5py.File(tmp_path / "out" / "standing_full_master.h5") as file:
            assert file["/entry/rashpa/books/balanced"][()]
        shutil.rmtree(tmp_path / "out")
        code, said = run(tmp_path, f'receiver = "{receiver}"\nemulator = "{emulator}"\n', "secret")
        assert code == 0, said


def test_who_has_no_token_learns_nothing_of_a_node(tmp_path: Path) -> None:
    with node("receiver", tmp_path, token="secret") as url:
        for order in ("status", "abort", "reset", "log"):
            code, said = ask(url, order, "wrong")
            assert code == 1
            assert f"rashpa node {order}: " in said
            assert "needs its bearer token" in said
    code, said = ask(url, "status")
    assert code == 1
    assert "cannot be reached" in said
    assert ask("receiver7", "status") == (
        2,
        "rashpa node status: receiver7 is no URL of a node; a node prints its own when it starts, such as http://127.0.0.1:4781\n",
    )
