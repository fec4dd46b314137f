# SPDX-License-Identifier: Apache-2.0
"""Captures the output of kernels, libraries and child processes in a node, and puts it into the node's log under the name of the kernel. A separate
process (`printed_drain.py`) reads it, so that a printing thread never waits for a reader."""

import contextlib
import ctypes
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

from typing_extensions import override

from rashpa.data.base import telling
from rashpa.node.host import printed_drain
from rashpa.node.host.printed_drain import BEGIN, END, MIDDLE, MOST_FRAME

_TEXT = MOST_FRAME - 256  # bytes of a frame beside its name
_LONGEST_NAME = 100
_LINE_BUFFERED = 1  # _IOLBF of C
_FRAMING = BEGIN + MIDDLE + END


class _Printing(threading.local):
    name = ""


_PRINTING = _Printing()


class PrintsAs:
    """Puts, during the context, the output of this thread into the log under a given name."""

    def __init__(self, name: str) -> None:
        self._name = name[:_LONGEST_NAME]
        self._before = ""

    def __enter__(self) -> None:
        self._before, _PRINTING.name = _PRINTING.name, self._name

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _PRINTING.name = self._before


class PrintedStream(telling.FileText):
    """Writes text to the drain; a failure of the drain never stops the writer. `name`: the name for all text, by default that of the printing thread."""

    def __init__(self, file: int, name: str = "") -> None:
        super().__init__(file, "utf-8")
        self._name = name
        self.buffer = io.FileIO(file, "wb", closefd=False)  # for those who write bytes

    @override
    def write(self, text: str) -> int:
        """Write the whole text and return its length. Raise TypeError when it is no text."""
        telling.check_text(text)
        data = text.encode("utf-8", "replace").translate(None, _FRAMING)
        name = (self._name or _PRINTING.name).encode("utf-8", "replace").translate(None, _FRAMING)
        with contextlib.suppress(OSError):  # the drain is gone
            for at in range(0, len(data), _TEXT):
                piece = data[at : at + _TEXT]
                os.write(self._file, BEGIN + name + MIDDLE + piece + END if name else piece)
        return len(text)


class Printed:
    """Owns the drain of one process. It starts before the process has threads; later it captures standard output and error."""

    def __init__(self) -> None:
        """Start the drain. Raise OSError when it cannot start."""
        taken, self._print_into = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603  (our own program)
                (sys.executable, "-I", "-S", str(Path(printed_drain.__file__))), stdin=taken, stdout=subprocess.PIPE
            )
        except OSError:
            os.close(self._print_into)
            raise
        finally:
            os.close(taken)

    def redirect(self, heard: Callable[[str, str], object]) -> None:
        """Send standard output and error to the drain, which passes the name and text of each line to `heard`. The name is empty when it is unknown."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.dup2(self._print_into, 1)
        os.dup2(self._print_into, 2)
        os.close(self._print_into)
        sys.stdout, sys.stderr = PrintedStream(1), PrintedStream(2)
        _buffer_lines()
        if self._process.stdout is not None:
            hear = threading.Thread(target=_hear, args=(self._process.stdout, heard), daemon=True, name="printed")
            hear.start()


def drain_of_process() -> Printed | None:
    """Return a drain for a process that is only a node, None for others. When the drain cannot start, print a message and return None."""
    if not isinstance(sys.stdout, telling.TellingStream):
        return None
    try:
        return Printed()
    except OSError as error:
        sys.stderr.write(f"rashpa: what kernels print is not taken: {error.strerror}; they wait for who reads it\n")
        return None


def _buffer_lines() -> None:
    """Make C's printf flush at the end of each line, as on a terminal, in place of every 4096 bytes."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        library = ctypes.CDLL(None)
        library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, _LINE_BUFFERED, 0)


def _hear(told: IO[bytes], heard: Callable[[str, str], object]) -> None:
    for line in told:
        record = json.loads(line)
        if "text" in record:
            heard(record["who"], record["text"])
        else:
            heard("", f"({record['lines']} more lines, {record['bytes']} bytes, are dropped: printed too fast)")
