# SPDX-License-Identifier: Apache-2.0
"""Starts commands of rashpa in tests without the time that an interpreter needs for its imports: `subprocess.Popen` asks a prepared process to fork
them.

A command is a child of this process, with the arguments, descriptors, folder and environment that it was given. A start is an ordinary one when it
needs more than the server supports. Examples are a function before the start, other limits, a terminal, or variables that interpreters and libraries
read when they start. With RASHPA_TEST_EXEC=1, all starts are ordinary ones.
"""

import atexit
import contextlib
import inspect
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rashpa.testing.prepared import prepared_server

VARIABLE = "RASHPA_TEST_EXEC"
_INTERPRETER = sys.executable  # tests put other programs in its place
_ordinary: Any = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_PARAMETERS = tuple(inspect.signature(_ordinary).parameters)
# Interpreters and libraries read variables that begin so when they start.
_READ_AT_START = (
    "PYTHON",
    "LD_",
    "MALLOC_",
    "GLIBC_",
    "ASAN_",
    "HDF5_",
    "LC_",
    "LANG",
    "TZ",
    "TTY_",
    "NO_COLOR",
    "FORCE_COLOR",
)
_READ_BY_THE_SERVER = {"PYTHONIOENCODING", "PYTHONUNBUFFERED"}
_PLAIN = {
    "preexec_fn": None,
    "executable": None,
    "close_fds": True,
    "restore_signals": True,
    "shell": False,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
    "process_group": -1,
}
_COMMANDS = (
    ["-m", "rashpa.cli.entry"],
    ["-m", "rashpa.testing.fake_node"],
    ["-m", "rashpa.testing.prepared.program"],
    ["-P", "-m", "rashpa.data.files.limited_process"],
    ["-P", "-m", "rashpa.node.offline.trial"],
    ["-P", "-m", "rashpa.testing.prepared.within"],
)
_LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})
_PIPES = (("p2cread", 0), ("c2pwrite", 1), ("errwrite", 2))
_LONGEST = prepared_server.PADDING - 64
_LONGEST_VARIABLES = prepared_server.VARIABLE_PADDING


class _Server:
    """The other end of the connection to a prepared process."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    @classmethod
    def start(cls, environment: Mapping[str, str]) -> "_Server":
        """Start the process. It imports while this process continues; the first order waits for it."""
        here, there = socket.socketpair()
        with there:
            process = subprocess.Popen(  # noqa: S603  our own module
                [
                    _INTERPRETER,
                    "-P",
                    "-m",
                    prepared_server.__package__,
                    str(there.fileno()),
                    "x" * prepared_server.PADDING,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(there.fileno(),),
                env={
                    **environment,
                    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
                    prepared_server.VARIABLE: "x" * prepared_server.VARIABLE_PADDING,
                },
                cwd="/",
            )
        atexit.register(_end, here, process)
        return cls(here)

    def fork(self, order: prepared_server.Order, descriptors: Sequence[int]) -> int:
        """Return the number of a new process. Raise OSError when the server has ended or cannot fork."""
        body = json.dumps(order._asdict()).encode()
        with self._lock:
            socket.send_fds(self._connection, [prepared_server.HEAD.pack(len(body))], descriptors)
            self._connection.sendall(body)
            answer = self._connection.recv(prepared_server.ANSWER.size, socket.MSG_WAITALL)
        if len(answer) < prepared_server.ANSWER.size:
            raise ConnectionError("the prepared process is gone")
        number = int(prepared_server.ANSWER.unpack(answer)[0])
        if number <= 0:  # as a number of a process it would mean all of them
            raise ChildProcessError("the prepared process could not fork")
        return number


def _end(connection: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    connection.close()
    process.wait()


class _State:
    """Holds the server of this process, and the state of the process when commands began to be forked, which children of the server inherit."""

    server: _Server | None = None
    ordinary = False
    environment: dict[str, str] = {}  # noqa: RUF012  one for this process
    limits: list[tuple[int, int]] = []  # noqa: RUF012


def install() -> None:
    """Fork commands of rashpa from now on, in this process and in those that it starts. The first command starts the server."""
    if os.environ.get(VARIABLE, "") in ("", "0") and prepared_server.can_serve():
        _State.environment, _State.limits = dict(os.environ), _limits()
        subprocess.Popen._execute_child = _execute_child  # type: ignore[attr-defined]


def use(connection: socket.socket) -> None:
    """Fork commands of rashpa with the server at the other end of `connection`."""
    _State.server = _Server(connection)
    install()


@contextlib.contextmanager
def ordinary_starts() -> Iterator[None]:
    """Start commands, during the context, as users do."""
    before, _State.ordinary = _State.ordinary, True
    try:
        yield
    finally:
        _State.ordinary = before


def _limits() -> list[tuple[int, int]]:
    return [resource.getrlimit(one) for one in _LIMITS]


def read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an interpreter or a library reads when it starts. A forked process has its server's values."""
    return {
        key: value
        for key, value in environment.items()
        if key.startswith(_READ_AT_START) and key not in _READ_BY_THE_SERVER
    }


def _inherits(environment: Mapping[str, str]) -> bool:
    """Return True when a child of the server has the limits of this process, and had these variables when it started."""
    return _State.limits == _limits() and read_at_start(_State.environment) == read_at_start(environment)


def _is_ours(words: object) -> bool:
    """Return True when these are the words of a rashpa command with this interpreter."""
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words) or not words:
        return False
    if sum(len(os.fsencode(word)) + 1 for word in words) > _LONGEST:
        return False
    if words[0] == str(Path(_INTERPRETER).with_name("rashpa")):
        return True
    return words[0] == _INTERPRETER and any(list(words[1 : 1 + len(one)]) == one for one in _COMMANDS)


def _umask() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Umask:"))
    return int(line.split()[1], 8)


def _order(words: Sequence[str], given: Mapping[str, Any], environment: Mapping[str, str]) -> prepared_server.Order:
    script = words[0] != _INTERPRETER
    return prepared_server.Order(
        arguments=list(words if script else words[1:]),
        name=_INTERPRETER,
        environment=dict(environment),
        folder=str(Path(os.fspath(given["cwd"] or ".")).absolute()),
        umask=_umask(),
        processors=sorted(os.sched_getaffinity(0)),
        session=bool(given["start_new_session"]),
        targets=[0, 1, 2, *given["pass_fds"]],
        ignored=prepared_server.ignored(),
    )


def _forked(given: Mapping[str, Any]) -> int | None:
    """Return the number of the process that was forked for this start, None when an ordinary start is needed."""
    words = given["args"]
    if (
        _State.ordinary
        or not _is_ours(words)
        or any(given[key] != value for key, value in _PLAIN.items() if key in given)
    ):
        return None
    environment = os.environ if given["env"] is None else given["env"]
    standard = [given[name] if given[name] != -1 else number for name, number in _PIPES]
    if not all(isinstance(text, str) for pair in environment.items() for text in pair):
        return None
    if sum(len(os.fsencode(text)) + 1 for pair in environment.items() for text in pair) > _LONGEST_VARIABLES:
        return None
    try:
        if any(os.isatty(one) for one in standard) or not _inherits(environment):
            return None
        order = _order(words, given, environment)
        if not Path(order.folder).is_dir() or len(order.targets) > prepared_server.MOST_FDS:
            return None
        if _State.server is None:
            _State.server = _Server.start(_State.environment)
        return _State.server.fork(order, [*standard, *given["pass_fds"]])
    except OSError:
        return None


def _execute_child(self: Any, *arguments: Any) -> None:
    given = dict(zip(_PARAMETERS, (self, *arguments), strict=True))
    number = _forked(given)
    if number is None:
        _ordinary(self, *arguments)
        return
    self.pid = number
    self._child_created = True
    self._close_pipe_fds(
        *(given[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"))
    )
