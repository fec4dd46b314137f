# SPDX-License-Identifier: Apache-2.0
"""Controls a node whose manager has died: a process of this machine without a parent."""

import asyncio
import contextlib
import os
import select
import signal

from rashpa.control.handover.journal import KnownNode
from rashpa.control.nodes.process_identity import is_process

_CLOSE_S = 4.0  # as of a node of one's own; it ends by itself when it is nobody's
_END_S = 13.0  # after SIGTERM: Abort and Reset have 10 s


class AdoptedNode:
    """Controls a node process that another process has started, with the methods of `LocalNode`."""

    def __init__(self, label: str, known: KnownNode) -> None:
        self.name = label
        self.url = known.url
        self.pid = known.pid
        self._known = known

    async def ended(self, within_s: float = 0.5) -> str:
        """Return a text that the process has ended, empty while it runs."""
        if not await self._wait(within_s):
            return ""
        return (
            f"{self.name} (process {self.pid}) has ended; files that it wrote are closed: `rashpa inspect` shows them"
        )

    def kill(self) -> None:
        """End the process at once."""
        if is_process(self.pid, self._known.identity):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)

    async def close(self) -> None:
        """Let the process end, then kill it, within a bounded time."""
        for number, patience_s in ((signal.SIGTERM, _CLOSE_S), (signal.SIGKILL, _END_S), (None, _CLOSE_S)):
            if await self._wait(patience_s):
                return
            if number is not None and is_process(self.pid, self._known.identity):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, number)

    async def _wait(self, seconds: float) -> bool:
        """Return True when the node ends within that time."""
        try:
            file = os.pidfd_open(self.pid)
        except OSError:
            return True
        try:
            if not is_process(self.pid, self._known.identity):
                return True
            ended = select.poll()
            ended.register(file, select.POLLIN)
            return bool(await asyncio.to_thread(ended.poll, seconds * 1000.0))
        finally:
            os.close(file)
