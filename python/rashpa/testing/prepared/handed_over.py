# SPDX-License-Identifier: Apache-2.0
"""Starts a command of rashpa by name without the time that an interpreter needs for its imports: `python -IS handed_over.py NAME PYTHON WORD…`. The
process that listens at the socket NAME (first_process.py) forks the command; this program passes signals on to it and ends with it. When nobody
listens, or when the forked process would lack something, this process itself becomes `PYTHON -m rashpa.cli.entry WORD…`. It imports nothing of
rashpa."""

import contextlib
import json
import os
import signal
import socket
import struct
import sys

PASSED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
_NUMBER = struct.Struct("=i")


def _ignored() -> list[int]:
    """Return the signals that this process has ignored since its start, for example under `nohup` or as a shell's background command."""
    return [int(one) for one in PASSED_ON if signal.getsignal(one) is signal.SIG_IGN]


def _is_plain() -> bool:
    """Return True when this process has nothing that a forked one would lack: a terminal, more descriptors."""
    descriptors = {int(one) for one in os.listdir("/proc/self/fd")}  # noqa: PTH208  pathlib takes longer to import than all else here
    more = [one for one in descriptors - {0, 1, 2} if os.path.exists(f"/proc/self/fd/{one}")]  # noqa: PTH110
    return not more and {0, 1, 2} <= descriptors and not any(os.isatty(one) for one in (0, 1, 2))


def _ask(name: str, command: list[str]) -> tuple[socket.socket, int] | None:
    """Return the connection to the server and the number of the forked process; None when it cannot fork."""
    umask = os.umask(0)
    os.umask(umask)
    with open("/proc/self/limits", encoding="ascii") as file:  # noqa: PTH123
        limits = file.read()
    body = {
        "arguments": command[1:],
        "name": command[0],
        "environment": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109
        "umask": umask,
    }
    body |= {"processors": sorted(os.sched_getaffinity(0)), "session": False, "targets": [0, 1, 2], "limits": limits}
    body["ignored"] = _ignored()
    text = json.dumps(body).encode()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(f"\0{name}")
    socket.send_fds(connection, [struct.pack("=I", len(text))], [0, 1, 2])
    connection.sendall(text)
    answer = connection.recv(_NUMBER.size, socket.MSG_WAITALL)
    number = _NUMBER.unpack(answer)[0] if len(answer) == _NUMBER.size else 0
    return (connection, number) if number > 0 else None


def _send(number: int, which: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, which)


def main() -> None:
    """Request the command, and wait for its end."""
    name, python, *words = sys.argv[1:]
    command = [python, "-m", "rashpa.cli.entry", *words]
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    try:
        asked = _ask(name, command) if _is_plain() else None
    except OSError:
        asked = None
    if asked is None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        os.execv(python, command)  # noqa: S606  our own command
    connection, number = asked
    for one in PASSED_ON - set(_ignored()):
        signal.signal(one, lambda which, _frame: _send(number, which))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    answer = connection.recv(_NUMBER.size, socket.MSG_WAITALL)
    code = _NUMBER.unpack(answer)[0] if len(answer) == _NUMBER.size else 1
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
