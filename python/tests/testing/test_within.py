# SPDX-License-Identifier: Apache-2.0
"""Commands in separate namespaces, and commands that programs start by name through a server."""

import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rashpa.testing.prepared import prepared_python, prepared_server, within

WITHIN = [sys.executable, "-P", "-m", within.__name__]
HANDED_OVER = Path(within.__file__).with_name("handed_over.py")


def may(*words: str) -> bool:
    return subprocess.run([*WITHIN, *words, "--", "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture(params=["forked", "started"])
def how(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "started":
        with prepared_python.ordinary_starts():
            yield "started"
    elif os.environ.get(prepared_python.VARIABLE) or not prepared_server.can_serve():
        pytest.skip("commands are not forked")
    else:
        yield "forked"


@pytest.fixture
def alone(how: str) -> str:
    if not may("--alone"):
        pytest.skip("may not make namespaces")
    return how


def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more}
    return subprocess.run([*WITHIN, *words], capture_output=True, text=True, check=False, env=environment, timeout=60)


def script(folder: Path, text: str) -> list[str]:
    (folder / "script.py").write_text(text, encoding="utf-8")
    return [sys.executable, str(folder / "script.py")]


def test_a_command_alone_has_numbers_and_a_network_of_its_own(tmp_path: Path, alone: str) -> None:
    text = (
        "import json, os, pathlib, socket\n"
        "listener = socket.create_server(('127.0.0.1', 9))\n"
        "socket.create_connection(listener.getsockname()).close()\n"
        "numbers = sorted(int(one.name) for one in pathlib.Path('/proc').iterdir() if one.name.isdigit())\n"
        "print(json.dumps([os.getpid(), os.getppid(), numbers, os.getuid(), socket.if_nameindex()]))\n"
    )
    done = run("--alone", "--", *script(tmp_path, text))
    assert done.returncode == 0, done.stderr
    number, parent, numbers, user, interfaces = json.loads(done.stdout)
    assert parent == 1
    assert {1, number} <= set(numbers)
    assert len(numbers) <= 3  # and the process from which it forks others
    assert user == 0
    assert [name for _, name in interfaces] == ["lo"]


@pytest.mark.parametrize(("text", "code"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 15)", 143)])
def test_what_a_command_ends_with_is_told(tmp_path: Path, alone: str, text: str, code: int) -> None:
    assert run("--alone", "--", *script(tmp_path, text)).returncode == code


def test_all_that_a_command_has_started_ends_with_it(tmp_path: Path, alone: str) -> None:
    """Check that its standard output, which all of its children have, is closed after its end."""
    text = "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)"
    assert run("--alone", "--", *script(tmp_path, text)).returncode == 0


def test_a_command_ends_with_who_has_asked_for_it(tmp_path: Path, alone: str) -> None:
    text = "import signal; print('there', flush=True); signal.pause()"
    with subprocess.Popen([*WITHIN, "--alone", "--", *script(tmp_path, text)], stdout=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        process.kill()
        assert process.stdout.read() == ""  # the end of it: nobody has it any more


def test_a_folder_is_the_shared_memory_of_a_command(tmp_path: Path, how: str) -> None:
    (tmp_path / "shm").mkdir()
    if not may("--shared-memory", str(tmp_path / "shm")):
        pytest.skip("may not mount")
    text = "import pathlib; pathlib.Path('/dev/shm/of_the_test').write_text('its own')"
    done = run("--shared-memory", str(tmp_path / "shm"), "--", *script(tmp_path, text))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "shm" / "of_the_test").read_text() == "its own"
    assert not Path("/dev/shm/of_the_test").exists()


# ---- commands that are handed over ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def typed(tmp_path: Path, how: str) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Return a function that runs a bash script in which `rashpa` is forked by the server."""
    name = f"rashpa-test-{secrets.token_hex(8)}"
    program = tmp_path / "bin" / "rashpa"
    program.parent.mkdir()
    words = shlex.join([sys.executable, "-IS", str(HANDED_OVER), name, sys.executable])
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)

    def type_it(text: str) -> subprocess.CompletedProcess[str]:
        path = f"{program.parent}:{os.environ['PATH']}"
        return run("--commands", name, "--", "bash", "-c", f"cd {tmp_path}\n{text}", PATH=path)

    return type_it


def test_a_command_that_is_handed_over_says_and_ends_as_it_does(
    typed: Callable[[str], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = typed("echo nothing | rashpa --version && rashpa plan nowhere.toml")
    words = [sys.executable, "-m", "rashpa.cli.entry", "plan", "nowhere.toml"]
    plain = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == plain.returncode == 2
    assert done.stdout.startswith("rashpa ")
    assert done.stderr == plain.stderr
    assert "nowhere.toml" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_a_command_that_is_handed_over_ends_it(
    typed: Callable[[str], subprocess.CompletedProcess[str]], tmp_path: Path, how: str, number: signal.Signals
) -> None:
    """Use a Python program, whose child does not ignore interrupts, unlike children in the background of a script."""
    text = (
        "import json, pathlib, subprocess\n"
        "node = subprocess.Popen(['rashpa', 'receiver', '--port', '0'], stdout=-1, text=True)\n"
        "assert json.loads(node.stdout.readline())['url']\n"
        "same = b'rashpa.cli.entry' in pathlib.Path(f'/proc/{node.pid}/cmdline').read_bytes()\n"
        f"node.send_signal({int(number)})\n"
        "node.stdout.read()  # until the command itself is gone\n"
        "print(json.dumps([same, node.wait(30)]))\n"
    )
    (tmp_path / "program.py").write_text(text)
    done = typed(f"{sys.executable} program.py")
    assert done.returncode == 0, done.stderr
    ordinary = subprocess.Popen([sys.executable, "-m", "rashpa.cli.entry", "receiver", "--port", "0"], stdout=-1)
    assert ordinary.stdout is not None
    assert json.loads(ordinary.stdout.readline())["url"]
    ordinary.send_signal(number)
    ordinary.communicate(timeout=30)
    assert json.loads(done.stdout) == [how == "started", ordinary.returncode]


IGNORING = """\
import json, pathlib, signal, subprocess, sys
for one in (signal.SIGHUP, signal.SIGQUIT):  # a node has a way of its own to be interrupted
    signal.signal(one, signal.SIG_IGN)
node = subprocess.Popen(["rashpa", "receiver", "--port", "0", "--name", sys.argv[1]], stdout=-1, text=True)
assert json.loads(node.stdout.readline())["url"]
def words_of(path):
    try:
        return (path / "cmdline").read_bytes().split(bytes(1))
    except OSError:
        return []  # it has ended
paths = [one for one in pathlib.Path("/proc").glob("[0-9]*") if {b"rashpa.cli.entry", sys.argv[1].encode()} <= set(words_of(one))]
ignored = [line.split()[1] for path in paths for line in (path / "status").read_text().splitlines() if line.startswith("SigIgn:")]
node.send_signal(signal.SIGHUP)
same = str(node.pid) in [path.name for path in paths]
node.terminate()
node.stdout.read()
print(json.dumps([same, [int(mask, 16) for mask in ignored], node.wait(30)]))
"""


def test_a_command_that_is_handed_over_ignores_the_signals_that_it_is_started_to_ignore(
    typed: Callable[[str], subprocess.CompletedProcess[str]], tmp_path: Path, how: str
) -> None:
    """Check signals that are ignored, as in the background of a script and below `nohup`."""
    (tmp_path / "program.py").write_text(IGNORING)
    done = typed(f"{sys.executable} program.py of-{secrets.token_hex(8)}")
    assert done.returncode == 0, done.stderr
    same, (mask,), code = json.loads(done.stdout)
    assert same == (how == "started")
    assert [bool(mask >> (one - 1) & 1) for one in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)] == [
        True,
        True,
        False,
    ]
    assert code == 0


def test_a_command_with_other_variables_of_the_interpreter_is_started(
    typed: Callable[[str], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('own', flush=True)")
    done = typed(f"PYTHONPATH={tmp_path} rashpa --version; (ulimit -n 100; rashpa --version); rashpa --version 3<&0")
    assert done.returncode == 0, done.stderr
    said = [line.split()[0] for line in done.stdout.splitlines()]
    # ours is another program than theirs, and it does not read their variables
    assert said == ["own", "rashpa", "rashpa", "rashpa"]


def test_a_process_shows_its_variables_to_others(tmp_path: Path, how: str) -> None:
    mark = f"OF_THE_TEST={secrets.token_hex(8)}"
    key, value = mark.split("=")
    process = subprocess.Popen(
        [sys.executable, "-m", "rashpa.cli.entry", "receiver", "--port", "0", "--with-parent"],
        cwd=tmp_path,
        env={**os.environ, key: value},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["url"]
    variables = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    process.communicate(timeout=30)
    assert mark.encode() in variables
