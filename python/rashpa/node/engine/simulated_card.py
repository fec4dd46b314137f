# SPDX-License-Identifier: Apache-2.0
"""Runs a simulated card that a node starts for one run: `rashpa card` in a folder of its own."""

import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from pathlib import Path

from rashpa.node.engine.engine import EngineError
from rashpa.node.host.printed import PrintsAs

_READY_S = 60.0
_CLOSE_S = 4.0
_LAST = 20  # lines
_LONGEST = 500  # bytes of one


class SimulatedCard:
    """Runs the process of one card in a folder of its own, and removes the folder at the end. The card ends when its stdin closes, so it never
    outlives the node. `options`: those of `rashpa card`. Raise EngineError with the card's last output when it does not start."""

    def __init__(self, *options: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="rashpa_card_"))
        command = (sys.executable, "-m", "rashpa.cli.entry", "card", str(self.directory), "--with-parent", *options)
        self._words: deque[str] = deque(maxlen=_LAST)
        self._is_ready = False
        self._settled = threading.Event()  # it is ready, or says nothing more
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(  # noqa: S603
                command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            self._remove()
            raise EngineError("resource", f"the simulated card cannot be started: {error}") from None
        self._listening = threading.Thread(target=self._listen, daemon=True, name="card")
        self._listening.start()
        self._settled.wait(_READY_S)
        if not self._is_ready:
            self.close()
            words = " | ".join(self._words) or "it said nothing"
            raise EngineError("resource", f"the simulated card did not start: {words}"[-1000:])

    def _listen(self) -> None:
        """Read the card's output to the end, since a full pipe would block the card. Print the lines that come after it is ready."""
        output = self._process.stdout
        with PrintsAs("simulated card"), output or contextlib.nullcontext():
            while output and (line := output.readline(_LONGEST)):
                if not self._is_ready and line.startswith(b"ready"):
                    self._is_ready = True
                    self._settled.set()
                    continue
                self._words.append(line.decode(errors="replace").strip())
                if self._is_ready:
                    sys.stderr.write(line.decode(errors="replace"))
        self._settled.set()

    def ended(self) -> str:
        """Return how the card's process ended without being asked to; empty while it runs. Any thread may call it."""
        code = self._process.poll()
        if code is None:
            return ""
        self._listening.join(_CLOSE_S)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        said = f"; it said: {' | '.join(self._words)}" if self._words else ""
        return f"the simulated card (process {self._process.pid}) {how}{said}"

    def close(self) -> None:
        """End the process and remove the folder, within a bounded time; idempotent."""
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
        self._listening.join(_CLOSE_S)

    def _remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
