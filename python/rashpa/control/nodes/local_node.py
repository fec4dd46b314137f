# SPDX-License-Identifier: Apache-2.0
"""Runs a node that the manager starts for one run, as a separate process on this machine."""

import asyncio
import collections
import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence

from rashpa.control.nodes.node_client import NodeError
from rashpa.control.nodes.running_time import within
from rashpa.control.orders.grant import Grant
from rashpa.control.runfile.token import VARIABLE
from rashpa.data.base.limit_said import limit_behind, limit_of_memory, with_limit

READY_S = 30.0
_CLOSE_S, _LEAVE_S = 4.0, 2.0
_LOOK_S = 0.01
_PIECE = 1 << 14  # bytes
_LONGEST = 500  # characters of a line


def local_command(role: str, name: str) -> tuple[str, ...]:
    """Return the command of a node of this installation. `role`: "emulator" or "receiver"; `name`: the node's name in messages."""
    return (sys.executable, "-m", "rashpa.cli.entry", role, "--name", name, "--port", "0", "--of-run")


class LocalNode:
    """Owns the process of one node. The process notices the end of the manager in any case, because its stdin then closes."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.url = ""
        self._process = process
        self._said: collections.deque[str] = collections.deque(maxlen=20)
        self._at: asyncio.Future[str] = asyncio.get_running_loop().create_future()  # its URL, once it has said it
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, name: str, command: Sequence[str], grant: Grant, ready_s: float = READY_S) -> "LocalNode":
        """Start the process and wait until it can take telegrams. Raise NodeError with its last output when it does not start."""
        pipe = asyncio.subprocess.PIPE
        # its own session: Ctrl-C goes to the manager alone, which then ends the node in order
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
                env={key: value for key, value in os.environ.items() if key != VARIABLE},
            )
        except OSError as error:
            text = f"{name}: its process cannot be started: {with_limit(error)}; raise that limit, or end others"
            raise NodeError(name, text, "resource") from None
        for number in (1, 2):  # asyncio asks for 256 KiB at each read, again and again where there is no such memory
            process._transport.get_pipe_transport(number).max_size = _PIECE  # type: ignore[attr-defined]
        node = cls(name, process)
        try:
            await node._begin(grant, ready_s)
        except BaseException:
            await node.close()
            raise
        return node

    async def _begin(self, grant: Grant, ready_s: float) -> None:
        """Send the grant and wait until the node announces its address."""
        try:
            async with within(ready_s):
                with contextlib.suppress(ConnectionError):  # it has ended already; its last words say why
                    await self._hand_over(grant)
                await self._announced_or_ended()
        except TimeoutError:
            text = f"{self.name} did not start within {ready_s:g} s{self.last_words()}; start it again when the machine has less to do"
            raise NodeError(self.name, text) from None
        if not self._at.done():
            with contextlib.suppress(TimeoutError):
                async with within(_CLOSE_S):
                    await asyncio.shield(self._listening)
            said = self.last_words()
            limit = limit_behind(RuntimeError(said)) or limit_of_memory()
            raise NodeError(self.name, f"{self.name} did not start{said}{f'; {limit}' if limit else ''}")
        self.url = self._at.result()

    async def _announced_or_ended(self) -> None:
        ended = asyncio.create_task(self._gone())
        try:
            await asyncio.wait((self._at, self._listening, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()

    async def _hand_over(self, grant: Grant) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(grant.line())
            await self._process.stdin.drain()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ended(self, within_s: float = 0.5) -> str:
        """Return how the process ended, empty while it runs."""
        with contextlib.suppress(TimeoutError):
            async with within(within_s):
                await self._gone()
        code = self._process.returncode
        if code is None:
            return ""
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"{self.name} (process {self.pid}) {how}{self.last_words()}"

    def last_words(self) -> str:
        """Return the last output of the node, to append to a message."""
        return f"; it said: {' | '.join(self._said)}" if self._said else ""

    def kill(self) -> None:
        """End the process and its children at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # it leads a session of its own

    async def _gone(self) -> None:
        """Wait for the process itself; asyncio would also wait for its children, which hold its pipes."""
        while self._process.returncode is None:  # noqa: ASYNC110 (asyncio has no event for it)
            await asyncio.sleep(_LOOK_S)

    async def close(self) -> None:
        """Let the process end, then kill it and its children; takes a bounded time."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        for end in (self._process.terminate, self._process.kill):
            with contextlib.suppress(TimeoutError):
                async with within(_CLOSE_S):
                    await self._gone()
            if self._process.returncode is not None:
                break
            with contextlib.suppress(ProcessLookupError):
                end()
        # a killed process is gone soon, unless a disk holds it; the output of its helpers until their end is heard
        with contextlib.suppress(TimeoutError):
            async with within(_LEAVE_S):
                await self._gone()
                await asyncio.shield(self._listening)
        if not self._listening.done():
            self.kill()  # a child of its own has its pipes, and does not end with it
        self._listening.cancel()
        # pipes whose other ends its children have are let go while there is a loop; asyncio has no public name for it
        self._process._transport.close()  # type: ignore[attr-defined]

    async def _listen(self) -> None:
        await asyncio.gather(self._hear(self._process.stdout), self._hear(self._process.stderr))

    async def _hear(self, stream: asyncio.StreamReader | None) -> None:
        """Read the output of the process until it ends, in lines of any length: a full pipe would block the process."""
        rest = b""
        while stream is not None and (said := await stream.read(_PIECE)):
            *lines, rest = (rest + said).split(b"\n")
            rest = rest[-_PIECE:]
            for line in lines:
                self._take(line)
        self._take(rest)

    def _take(self, line: bytes) -> None:
        if not self._at.done() and (url := _announced(line)):
            self._at.set_result(url)
        elif text := line.decode(errors="replace").rstrip():
            self._said.append(text[:_LONGEST])


def _announced(line: bytes) -> str:
    """Return the URL in a node's announcement, empty for other lines, which a wrapper of the node may print first."""
    if not line.startswith(b"{"):
        return ""
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        return str(json.loads(line)["url"])
    return ""
