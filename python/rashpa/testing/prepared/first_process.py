# SPDX-License-Identifier: Apache-2.0
"""Runs the first process of a command: it starts the command, and waits for it and for processes that lose their parent. It also forks the rashpa
commands that programs request."""

import contextlib
import os
import select
import signal
import socket
import struct
from pathlib import Path

from rashpa.testing.prepared import prepared_server
from rashpa.testing.prepared.prepared_python import read_at_start

STATUS = struct.Struct("=i")
_Got = tuple[prepared_server.Order, list[int]]


def serve(name: str | None) -> _Got | None:
    """Fork the command, then the commands requested at the socket `name`, and end with the command. In a child, return None for the command, and the
    order for others."""
    wake, woken = socket.socketpair()
    for one in (wake, woken):
        one.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    listener = socket.socket(socket.AF_UNIX)
    if name is not None:
        listener.bind(f"\0{name}")
        listener.listen(64)
    command = os.fork()
    if command == 0:
        _forget([wake, woken, listener])
        return None
    return _Server(command, listener, wake, woken).go_on(name is not None)


def _forget(sockets: list[socket.socket]) -> None:
    """Close the parent's descriptors in a child."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for one in sockets:
        one.close()


class _Server:
    """Waits for requests, for the end of requests, and for the end of processes."""

    def __init__(self, command: int, listener: socket.socket, wake: socket.socket, woken: socket.socket) -> None:
        self._command = command
        self._listener, self._wake, self._woken = listener, wake, woken
        self._requests: dict[int, socket.socket] = {}  # by the process that was forked
        self._environment, self._limits = read_at_start(os.environ), _limits()

    def go_on(self, listens: bool) -> _Got | None:
        """Return only in a child; the parent process ends with its command."""
        while True:
            waited = [self._wake, *([self._listener] if listens else []), *self._requests.values()]
            ready = select.select(waited, [], [])[0]
            if self._wake in ready:
                with contextlib.suppress(BlockingIOError):
                    self._wake.recv(4096)
                self._reap()
            for number, request in list(self._requests.items()):
                if request in ready:  # nobody sends any more: the other process is dead
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(number, signal.SIGKILL)
                    self._requests.pop(number).close()
            if self._listener in ready and (got := self._take()) is not None:
                return got

    def _reap(self) -> None:
        while True:
            try:
                number, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if number == 0:
                return
            if number == self._command:
                code = os.waitstatus_to_exitcode(status)
                os._exit(code if code >= 0 else 128 - code)
            if (request := self._requests.pop(number, None)) is not None:
                with request, contextlib.suppress(OSError):
                    request.sendall(STATUS.pack(os.waitstatus_to_exitcode(status)))

    def _take(self) -> _Got | None:
        """Fork the requested command if a child would have all that it has as an ordinary process; otherwise the requester must start it. In the
        child, return the order."""
        request, _ = self._listener.accept()
        try:
            got = prepared_server.receive(request)
        except OSError:
            got = None
        if got is None:
            request.close()
            return None
        order, descriptors = got
        number = 0
        if read_at_start(order.environment) == self._environment and order.limits == self._limits:
            prepared_server.learn()
            number = os.fork()
            if number == 0:
                _forget([self._wake, self._woken, self._listener, request, *self._requests.values()])
                return got
        for one in descriptors:
            os.close(one)
        with contextlib.suppress(OSError):  # a dead one is seen as such by the loop
            request.sendall(prepared_server.ANSWER.pack(number))
        if number:
            self._requests[number] = request
        else:
            request.close()
        return None


def _limits() -> str:
    return Path("/proc/self/limits").read_text(encoding="ascii")
