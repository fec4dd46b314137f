# SPDX-License-Identifier: Apache-2.0
"""A simulated card that a node starts for one run: `rashpa card` in a folder of its own."""

import contextlib
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rashpa.node.engine import EngineError

_READY_S = 60.0
_CLOSE_S = 4.0


class SimulatedCard:
    """The process of one card. Its folder is nobody else's, and goes with it. The card ends when the node ends, however that happens: it watches
    its stdin. `options`: of `rashpa card`. EngineError with its last words when it does not start."""

    def __init__(self, *options: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="rashpa_card_"))
        command = (sys.executable, "-m", "rashpa.cli.entry", "card", str(self.directory), "--with-parent", *options)
        pipe = subprocess.PIPE
        try:
            with tempfile.TemporaryFile() as said:
                self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=said, start_new_session=True)  # noqa: S603
                if not self._is_ready():
                    self._end()
                    said.seek(0)
                    words = said.read().decode(errors="replace").strip()
                    raise EngineError(
                        "resource", f"the simulated card did not start: {words or 'it said nothing'}"[-1000:]
                    )
        except OSError as error:
            self._remove()
            raise EngineError("resource", f"the simulated card cannot be started: {error}") from None
        except EngineError:
            self._remove()
            raise

    def _is_ready(self) -> bool:
        """Whether it says so in time."""
        until = time.monotonic() + _READY_S
        output = self._process.stdout
        if output is None:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            return bool(selector.select(until - time.monotonic())) and output.readline().startswith(b"ready")

    def close(self) -> None:
        """Ends the process and takes the folder away; bounded, idempotent."""
        self._end()
        self._remove()

    def _end(self) -> None:
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        for end in (process.terminate, process.kill):
            end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_CLOSE_S)
                break
        if process.stdout is not None:
            process.stdout.close()

    def _remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
