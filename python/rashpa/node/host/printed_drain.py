# SPDX-License-Identifier: Apache-2.0
"""Reads the output of a node and its children, as a separate program, as long as one of them can print.

It never stops reading standard input, so that it never blocks a printing process. Lines go to standard error as text, and to standard output as JSON
for the node's log: {"who", "text"}, or {"lines", "bytes"}, the counts of dropped ones. Memory is bounded, for lines of any length and for readers
that stop reading.

Text of a known kernel is framed: BEGIN name MIDDLE text END. The program imports only the fastest parts of the standard library, since it starts with
each node.
"""

import json
import os
import re
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator

BEGIN, MIDDLE, END = b"\x02", b"\x03", b"\x04"
OWN = "\x05"
"""Name of the node itself: its messages are in its log already."""
MOST_FRAME = 4096  # bytes; a pipe takes up to this number at once, or none
LONGEST = 500  # bytes of a line; a longer one becomes several
BURST = 1000  # lines that are kept at once …
PER_S = 50.0  # … and this number a second after them
_TICK_S = 0.5  # text without an end of line waits so long for it
_PIECE = 1 << 16
_MOST_NAMES = 64
_MOST_WAITING = 2 * BURST
_LAST = 20  # of the dropped lines, said at the end: the last words of a process that died
_LEAVE_S = 1.0
_ENDS = re.compile(rb"[\r\n]+")


class Lines:
    """Assembles lines from pieces, separately for each name. A progress bar's carriage return ends a line too."""

    def __init__(self) -> None:
        self._rest = b""
        self._open: dict[bytes, bytes] = {}

    @property
    def is_between(self) -> bool:
        """Return True when there is no unfinished line."""
        return not self._rest and not self._open

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield (name, line) for each complete line."""
        for name, text in self._pieces(self._rest + data):
            *lines, last = _ENDS.split(self._open.pop(name, b"") + text)
            for line in lines:
                yield from ((name, part) for part in _cut(line))
            *full, last = _cut(last) or [b""]
            yield from ((name, part) for part in full)
            if last and len(self._open) < _MOST_NAMES:
                self._open[name] = last
            elif last:
                yield name, last

    def end(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (name, text) of each unfinished line, and forget it."""
        if self._rest:
            self._open[b""] = (self._open.get(b"", b"") + self._rest)[-LONGEST:]
            self._rest = b""
        taken, self._open = self._open, {}
        yield from taken.items()

    def _pieces(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        at, self._rest = 0, b""
        while at < len(data):
            begin = data.find(BEGIN, at)
            if begin < 0:
                yield b"", data[at:]
                return
            if begin > at:
                yield b"", data[at:begin]
            end = data.find(END, begin, begin + MOST_FRAME)
            if end < 0 and len(data) - begin < MOST_FRAME:
                self._rest = data[begin:]
                return
            name, middle, text = data[begin + 1 : end].partition(MIDDLE) if end > 0 else (b"", b"", b"")
            if middle:
                yield name[:200], text
            at = end + 1 if middle else begin + 1  # no frame: somebody printed the byte


def _cut(line: bytes) -> list[bytes]:
    return [line[at : at + LONGEST] for at in range(0, len(line), LONGEST)]


class Outlet:
    """Writes to a reader that may be slow, hang or have died, in a thread of its own."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._ended = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def offer(self, line: bytes) -> bool:
        """Queue a line for the reader; return False when the queue is full."""
        with self._changed:
            if self._ended or len(self._waiting) >= _MOST_WAITING:
                return False
            self._waiting.append(line)
            self._changed.notify()
        return True

    def close(self) -> None:
        """Wait a short time for a reader that still reads."""
        with self._changed:
            self._waiting.append(b"")
            self._changed.notify()
        self._thread.join(_LEAVE_S)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                line = self._waiting.popleft()
            if not line:
                return
            try:
                while line:
                    line = line[os.write(self._file, line) :]
            except OSError:  # the reader is gone
                with self._changed:
                    self._ended = True
                    self._waiting.clear()
                return


class Drain:
    """Queues lines while there is space, and counts the dropped ones."""

    def __init__(self, told: Outlet, said: Outlet) -> None:
        self._told, self._said = told, said
        self._lines = Lines()
        self._room = float(BURST)
        self._since = time.monotonic()
        self._lost_lines = self._lost_bytes = 0
        self._last: deque[bytes] = deque(maxlen=_LAST)

    def take(self, data: bytes) -> None:
        """Process printed bytes."""
        self._refill()
        if self._room < 1.0 and self._lines.is_between and BEGIN not in data and data.endswith(b"\n"):
            self._lose(data.count(b"\n"), len(data))  # a flood costs as little as it can
            self._last.extend(line for line in _ENDS.split(data[-_LAST * LONGEST :])[-_LAST:] if line)
            return
        for name, line in self._lines.feed(data):
            self._keep(name, line)

    def tick(self) -> None:
        """Forward the unfinished lines that have waited."""
        for name, line in self._lines.end():
            self._keep(name, line)
        self._refill()
        if self._room >= 1.0:
            self._tell_lost()

    def end(self) -> None:
        """Forward the last lines, and drop earlier ones if needed."""
        self.tick()
        self._tell_lost()
        for line in self._last:
            self._said.offer(line + b"\n")
        self._told.close()
        self._said.close()

    def _keep(self, name: bytes, line: bytes) -> None:
        own = name.decode(errors="replace") == OWN
        self._refill()
        if self._room < 1.0 and not own:
            self._lose(1, len(line))
            self._last.append(line)
            return
        self._tell_lost()
        if not own:
            self._last.clear()  # newer words follow
            self._room -= 1.0
            record = {"who": name.decode(errors="replace"), "text": line.decode(errors="replace")}
            if not self._told.offer(json.dumps(record).encode() + b"\n"):
                self._lose(1, len(line))
        self._said.offer(line + b"\n")

    def _refill(self) -> None:
        now = time.monotonic()
        self._room = min(float(BURST), self._room + (now - self._since) * PER_S)
        self._since = now

    def _lose(self, lines: int, count: int) -> None:
        self._lost_lines += lines
        self._lost_bytes += count

    def _tell_lost(self) -> None:
        """Report the number of dropped lines and bytes. The last dropped lines are kept, because a failing program's last lines matter."""
        if self._lost_lines == 0:
            return
        record = json.dumps({"lines": self._lost_lines, "bytes": self._lost_bytes}).encode() + b"\n"
        if not self._told.offer(record):
            return
        self._said.offer(
            b"(%d lines that were printed, %d bytes, are dropped)\n" % (self._lost_lines, self._lost_bytes)
        )
        self._lost_lines = self._lost_bytes = 0


def main() -> None:
    """Read standard input to its end and forward its lines."""
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
    ):  # it ends after the printing processes
        signal.signal(number, signal.SIG_IGN)
    drain = Drain(Outlet(1), Outlet(2))
    ticked = time.monotonic()
    while True:
        if select.select([0], [], [], _TICK_S)[0]:
            if not (data := os.read(0, _PIECE)):
                break
            drain.take(data)
        if time.monotonic() - ticked >= _TICK_S:
            drain.tick()
            ticked = time.monotonic()
    drain.end()
    os._exit(0)  # nobody who does not read is waited for


if __name__ == "__main__":
    main()
