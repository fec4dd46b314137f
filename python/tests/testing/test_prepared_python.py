# SPDX-License-Identifier: Apache-2.0
"""A command forked from a prepared process behaves like a newly started one, for its parent and for itself."""

import contextlib
import importlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rashpa.testing.prepared import prepared_python, prepared_server
from rashpa.testing.waiting import eventually

MODULE = ["-m", "facts_of_process"]
FACTS = """\
import json, os, resource, signal, sys
facts = {
    "parent": os.getppid(), "session": os.getsid(0) == os.getpid(), "arguments": sys.argv, "folder": os.getcwd(), "path": sys.path[0],
    "variable": os.environ.get("OF_THE_TEST"), "umask": os.umask(0), "name": __name__, "orig": sys.orig_argv,
    "command": open("/proc/self/cmdline").read().rstrip("\\0").split("\\0"), "descriptors": sorted(int(one) for one in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + one)),
    "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler, "blocked": [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
    "encoding": [(one.encoding, one.errors) for one in (sys.stdin, sys.stdout, sys.stderr)], "threads": len(os.listdir("/proc/self/task")),
    "processors": sorted(os.sched_getaffinity(0)), "files": resource.getrlimit(resource.RLIMIT_NOFILE),
}
print(json.dumps(facts))
"""

pytestmark = pytest.mark.skipif(
    not prepared_server.can_serve(), reason="prctl does not tell where a thread keeps its number"
)


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.environ.get(prepared_python.VARIABLE):
        pytest.skip("commands are not forked")
    monkeypatch.setattr(prepared_python, "_COMMANDS", (*prepared_python._COMMANDS, MODULE))


def facts(folder: Path, **how: Any) -> dict[str, Any]:
    """Return the facts that a process finds about itself. It replaces a node, which starts no other processes."""
    (folder / "facts_of_process.py").write_text(FACTS)
    given: dict[str, Any] = {
        "cwd": folder,
        "env": {**os.environ, "OF_THE_TEST": "é"},
        "stdin": subprocess.DEVNULL,
    } | how
    done = subprocess.run([sys.executable, *MODULE, "receiver"], capture_output=True, text=True, check=False, **given)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("name", [*prepared_server._IMPORTED, *prepared_server._FILLED])
def test_all_that_is_prepared_is_there(name: str) -> None:
    """A server passes over a module that is not installed, and would pass over one that has another name now."""
    if name.partition(".")[0] != "rashpa":
        pytest.importorskip(name)
        return
    module, _, function = name.partition(":")
    found = importlib.import_module(module)
    assert not function or getattr(found, function).cache_info()


@pytest.mark.parametrize("given", ["utf-8:replace", "latin-1", ":ignore"])
def test_streams_have_the_encoding_that_is_asked_for(tmp_path: Path, given: str) -> None:
    """Check the encoding that commands under limits are given: that of their reader."""
    environment = {**os.environ, "PYTHONIOENCODING": given}
    forked = facts(tmp_path, env=environment)
    with prepared_python.ordinary_starts():
        started = facts(tmp_path, env=environment)
    assert forked["encoding"] == started["encoding"]
    assert forked["parent"] == started["parent"]


@pytest.mark.parametrize("session", [False, True])
def test_a_forked_command_has_what_one_that_was_started_has(tmp_path: Path, session: bool) -> None:
    forked = facts(tmp_path, start_new_session=session)
    with prepared_python.ordinary_starts():
        started = facts(tmp_path, start_new_session=session)
    assert forked == started
    assert forked["parent"] == os.getpid()
    assert forked["variable"] == "é"


def command(*words: str, **how: Any) -> "subprocess.Popen[str]":
    how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | how
    return subprocess.Popen([sys.executable, "-m", "rashpa.cli.entry", *words], **how)


def node(**how: Any) -> "subprocess.Popen[str]":
    process = command("receiver", "--port", "0", "--with-parent", **how)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["url"]
    return process


def end(process: "subprocess.Popen[str]") -> tuple[str, str]:
    return process.communicate(timeout=20)


def test_a_node_serves_and_ends_with_its_input(tmp_path: Path) -> None:
    process = node(cwd=tmp_path)
    words = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
    assert words[:4] == [os.fsencode(sys.executable), b"-m", b"rashpa.cli.entry", b"receiver"]
    end(process)
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_node_as_it_ends_one_that_was_started(tmp_path: Path, number: signal.Signals) -> None:
    codes = []
    for start in (node, ordinary_node):
        process = start(cwd=tmp_path)
        process.send_signal(number)
        process.wait(20)
        end(process)
        codes.append(process.returncode)
    assert codes[0] == codes[1]


def ordinary_node(**how: Any) -> "subprocess.Popen[str]":
    with prepared_python.ordinary_starts():
        return node(**how)


def test_exit_codes_and_messages_are_the_same(tmp_path: Path) -> None:
    forked = command("plan", "nowhere.toml", cwd=tmp_path)
    with prepared_python.ordinary_starts():
        started = command("plan", "nowhere.toml", cwd=tmp_path)
    assert end(forked) == end(started)
    assert forked.returncode == started.returncode != 0


ENDING = """\
import atexit, pathlib, sys, threading, time, weakref
class Kept: pass
kept = Kept()
weakref.finalize(kept, print, "finalized")
atexit.register(lambda: print("at exit", file=sys.stderr))
threading.Thread(target=lambda: (threading.main_thread().join(), print("other thread"))).start()
print("not flushed")
"""


@pytest.mark.parametrize(
    "last", ["", "sys.exit(3)", "sys.exit(-1)", "sys.exit('words')", "1 / 0", "sys.stdout.close()"]
)
def test_a_forked_command_ends_as_one_that_was_started(tmp_path: Path, last: str) -> None:
    """Check that threads, exit functions and output end properly; only the objects are left to the kernel."""
    (tmp_path / "facts_of_process.py").write_text(ENDING + last)
    ends = []
    for ordinary in (False, True):
        with prepared_python.ordinary_starts() if ordinary else contextlib.nullcontext():
            done = subprocess.run(
                [sys.executable, *MODULE, "receiver"], cwd=tmp_path, capture_output=True, text=True, check=False
            )
        # a traceback names its files
        said = [line for line in done.stderr.splitlines() if not line.startswith(" ")]
        ends.append((done.returncode, done.stdout, said))
    assert ends[0] == ends[1]
    assert "at exit" in ends[0][2]


def test_a_forked_command_whose_reader_has_gone_says_so(tmp_path: Path) -> None:
    (tmp_path / "facts_of_process.py").write_text("import sys; sys.stdin.read(); print('to nobody')")
    ends = []
    for ordinary in (False, True):
        with prepared_python.ordinary_starts() if ordinary else contextlib.nullcontext():
            process = subprocess.Popen(
                [sys.executable, *MODULE, "receiver"],
                cwd=tmp_path,
                env={**os.environ, "PYTHONUNBUFFERED": ""},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.close()
        # the first line names the stream
        ends.append((process.stderr.read().splitlines()[1:], process.wait(20)))
        process.stderr.close()
    assert ends[0] == ends[1]
    assert b"BrokenPipeError" in ends[0][0][0]


@pytest.mark.parametrize("more", [{"COLUMNS": "60"}, {"COLUMNS": "160", "TERM": "dumb", "PYTHONUNBUFFERED": "1"}])
def test_variables_that_a_command_reads_itself_are_heeded(tmp_path: Path, more: dict[str, str]) -> None:
    environment = {**os.environ, **more}
    forked = command("run", "--help", cwd=tmp_path, env=environment)
    with prepared_python.ordinary_starts():
        started = command("run", "--help", cwd=tmp_path, env=environment)
    said = end(forked)
    assert said == end(started)
    assert max(len(line) for line in said[0].splitlines()) <= int(more["COLUMNS"])


def test_what_a_command_has_imported_is_there_for_the_next(tmp_path: Path) -> None:
    """Check modules that take long to import, and that few commands need."""
    name = prepared_server._LATER[0]
    (tmp_path / "facts_of_process.py").write_text(f"import sys; print({name!r} in sys.modules); import {name}")
    said = [
        subprocess.run([sys.executable, *MODULE, "receiver"], cwd=tmp_path, capture_output=True, check=True).stdout
        for _ in range(2)
    ]
    assert said[1] == b"True\n"


def test_output_is_not_held_back_where_a_variable_says_so(tmp_path: Path) -> None:
    (tmp_path / "facts_of_process.py").write_text("import sys; sys.stdout.write('said'); sys.stdin.read()")
    process = subprocess.Popen(
        [sys.executable, *MODULE, "receiver"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert os.read(process.stdout.fileno(), 4) == b"said"  # before it ends
    process.communicate(timeout=20)


def test_what_a_server_cannot_give_is_an_ordinary_start(tmp_path: Path) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    asked: list[dict[str, Any]] = [
        {"env": {**os.environ, "PYTHONUTF8": "1"}},
        {"env": {**os.environ, "LC_ALL": "C"}},
        {"env": {**os.environ, "OF_THE_TEST": "x" * prepared_server.VARIABLE_PADDING}},
        {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most[0] - 1, most[1]))},
        {"umask": 0o77},
        {"close_fds": False},
    ]
    for how in asked:
        given = {
            "args": [sys.executable, "-m", "rashpa.cli.entry", "--version"],
            "env": None,
            "cwd": tmp_path,
            "pass_fds": (),
            "start_new_session": False,
        }
        pipes = dict.fromkeys(("p2cread", "c2pwrite", "errwrite"), -1)
        assert prepared_python._forked({**given, **pipes, **how}) is None, how
    with pytest.raises(FileNotFoundError):
        command("--version", cwd=tmp_path / "nowhere")
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most[0] - 1, most[1]))
        assert facts(tmp_path)["files"] == [most[0] - 1, most[1]]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_a_server_that_cannot_fork_means_no_process() -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(prepared_server.ANSWER.pack(-1))
        order = prepared_server.Order([], "", {}, "", 0, [], False, [])
        with pytest.raises(ChildProcessError, match="could not fork"):
            prepared_python._Server(here).fork(order, [])


def test_descriptors_come_under_their_numbers_and_no_others(tmp_path: Path) -> None:
    read, write = os.pipe()
    try:
        assert facts(tmp_path, pass_fds=(write,))["descriptors"] == [0, 1, 2, write]
    finally:
        os.close(read)
        os.close(write)


def test_a_server_ends_with_the_process_that_has_it(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys; from rashpa.testing.prepared import prepared_python; prepared_python.install()\n"
        "subprocess.run([sys.executable, '-m', 'rashpa.cli.entry', '--version'], check=True)\n"
        "print(*open(f'/proc/self/task/{__import__(\"os\").getpid()}/children').read().split())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    version, server = done.stdout.splitlines()
    assert version.startswith("rashpa ")
    assert server
    eventually(lambda: not any(Path(f"/proc/{one}").exists() for one in server.split()))
