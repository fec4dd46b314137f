# SPDX-License-Identifier: Apache-2.0
"""Writes output that only informs: a slow or absent reader never ends the writer, and delays it only for a moment.

With a stopped terminal, a pipe without reader, a full disk or a character that an encoding lacks, only text is lost. A separate thread writes the
text (`Behind`), so that the writer waits a moment at most. `tell` replaces Python's own standard streams. A command with no result besides its output
(`rashpa inspect`) ends when the output is lost; all others continue.
"""

import contextlib
import errno
import io
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Generic, NoReturn, ParamSpec, TypeVar

from typing_extensions import override

from rashpa.data.base.exit_code import ExitCode
from rashpa.data.base.plain_text import BIDIRECTIONAL

PATIENCE_S = 0.25
"""The longest time that a writer waits for a reader, once."""
MOST_BYTES = 1 << 18
"""The most bytes that wait for a reader; later ones are dropped."""
_CLOSE_S = 1.0  # without anything taken, at the end
_CHUNK = 4096
_MOST_VALUES = 1000
_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Piece:
    """Holds bytes that wait to be written."""

    def __init__(self, data: bytes, left_out: int) -> None:
        self.data = data
        self.left_out = left_out
        self.written: bool | None = None  # None: it waits


class Behind:
    """Writes in a separate thread to a file that may be slow, fail or hang. Any thread may call it.

    `write` gets the pieces in order, each with the number of pieces dropped before it for lack of space. It must return True when it has written the
    piece, and never raise. `late` is called once, when a piece is not written in time for the first time.
    """

    def __init__(self, write: Callable[[bytes, int], bool], late: Callable[[], None] | None = None) -> None:
        self._write = write
        self._late = late
        self._changed = threading.Condition()
        self._pieces: deque[_Piece] = deque()
        self._bytes = 0
        self._thread: threading.Thread | None = None
        self.hangs = False
        self._left_out = 0

    def put(self, data: bytes) -> bool:
        """Queue data and wait a moment. Return True when they are written, False when they still wait, were dropped, or failed."""
        with self._changed:
            if not self._works():
                return self._write(data, 0)
            if self._bytes + len(data) > MOST_BYTES and self._pieces:
                self._left_out += 1
                return False
            piece, self._left_out = _Piece(data, self._left_out), 0
            self._pieces.append(piece)
            self._bytes += len(data)
            self._changed.notify_all()
            if not self.hangs:
                self._changed.wait_for(lambda: piece.written is not None, PATIENCE_S)
            self.hangs = piece.written is None
            late, self._late = (self._late, None) if self.hangs else (None, self._late)
        if late is not None:
            late()
        return bool(piece.written)

    def drain(self) -> bool:
        """Wait while pieces are being written; return True when all are written."""
        with self._changed:
            while left := len(self._pieces):
                if not self._changed.wait_for(lambda left=left: len(self._pieces) < left, _CLOSE_S):  # type: ignore[misc]
                    return False
        return True

    def _works(self) -> bool:
        """Return True when the thread runs. At the interpreter's end, and where no thread can be made, the caller writes itself."""
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="telling", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return False
            self._thread = thread
        return True

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._pieces))
                piece = self._pieces[0]
            written = self._write(piece.data, piece.left_out)
            with self._changed:
                self._pieces.popleft()
                self._bytes -= len(piece.data)
                piece.written = written
                self.hangs = self.hangs and bool(self._pieces)
                self._changed.notify_all()


class FileText(io.TextIOBase):
    """Writes text to a file descriptor, and replaces characters that its encoding lacks."""

    def __init__(self, file: int, encoding: str) -> None:
        super().__init__()
        self._file = file
        self._encoding = encoding

    @property
    @override
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    @property
    @override
    def errors(self) -> str:  # type: ignore[override]
        return "replace"

    @override
    def fileno(self) -> int:
        return self._file

    @override
    def writable(self) -> bool:
        return True


def check_text(text: object) -> None:
    """Raise TypeError when `text` is no str."""
    if not isinstance(text, str):
        raise TypeError(f"write() takes text, not {type(text).__name__}; encode or decode it before")


class TellingStream(FileText):
    """Writes text to a file descriptor. `name`: its name for people; `elsewhere`: the stream on which it reports its first fault; `said`: this fault,
    for a report."""

    def __init__(self, file: int, name: str, encoding: str) -> None:
        super().__init__(file, encoding)
        self.elsewhere: TellingStream | None = None
        self.answers = False
        """True when this output is the command's only result: then a reader may be slow, and the command ends when it is lost."""
        self.trouble = ""
        """The reason why nothing is told here any more."""
        self._name = name
        self._behind = Behind(self._tell, self._say_late)

    @override
    def isatty(self) -> bool:
        return os.isatty(self._file)

    @override
    def write(self, text: str) -> int:
        """Write the whole text and return its length. Raise TypeError when it is no str."""
        check_text(text)
        data = text.translate(BIDIRECTIONAL).encode(self._encoding, "replace")
        if self.trouble or not data:
            return len(text)
        if not self.answers:
            self._behind.put(data)
        elif not self._tell(data):
            self._end()
        return len(text)

    @property
    def said(self) -> str:
        """Return the fault of the stream for a report, empty without one."""
        if self.trouble:
            return f"{self._name}: {self.trouble}; what was told there is lost"
        if self._behind.hangs:
            return f"{self._name}: nobody takes what is told there"
        return ""

    def drain(self) -> None:
        """Wait until the text is written, as long as the reader still reads."""
        self._behind.drain()

    def _end(self) -> NoReturn:
        raise SystemExit(ExitCode.FAILED)

    def _tell(self, data: bytes, left_out: int = 0) -> bool:
        if left_out:
            data = f"\n({left_out} texts were left out)\n".encode(self._encoding, "replace") + data
        try:
            while data and not self.trouble:
                try:
                    data = data[os.write(self._file, data[:_CHUNK]) :]
                except BlockingIOError:  # somebody else has made the terminal so
                    select.select([], [self._file], [])
        except (OSError, ValueError) as error:
            self._give_up(error)
        return not self.trouble

    def _give_up(self, error: OSError | ValueError) -> None:
        gone = isinstance(error, BrokenPipeError)
        self.trouble = (isinstance(error, OSError) and error.strerror) or str(error)
        if self.elsewhere is not None and not (gone and self.answers):  # `| head` is no trouble
            then = "" if self.answers else "; nothing more is told there, and the command goes on"
            self.elsewhere.write(f"rashpa: {self._name}: {self.trouble}{then}\n")

    def _say_late(self) -> None:
        if self.elsewhere is not None:
            self.elsewhere.write(f"rashpa: {self._name}: nobody takes what is told there; the command goes on\n")


@contextlib.contextmanager
def only_tells(name: str, said: Callable[[str], object]) -> Iterator[None]:
    """Pass the text of an exception of the block to `said` and suppress the exception: a run does not need this work."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  (whatever it is, it is no reason to lose images)
        why = (isinstance(error, OSError) and error.strerror) or f"{type(error).__name__}: {error}"
        said(f"{name}: {why}; it is given up, and the run goes on")


class OnlyTells(Generic[_P]):
    """Wraps a call that only informs, such as an observer of a run. Its first exception is reported, and later calls do nothing."""

    def __init__(self, name: str, call: Callable[_P, object], said: Callable[[str], object]) -> None:
        self._name, self._call, self._said = name, call, said
        self.given_up = False

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> None:
        if self.given_up:
            return
        self.given_up = True
        with only_tells(self._name, self._said):
            self._call(*args, **kwargs)
            self.given_up = False


class Apart(Generic[_T]):
    """Calls a listener in a separate thread, with values in order. A hanging listener delays no other one, and misses values that exceed the queue.
    `call` must not raise."""

    def __init__(self, call: Callable[[_T], object]) -> None:
        self._call = call
        self._changed = threading.Condition()
        self._values: deque[_T] = deque(maxlen=_MOST_VALUES)
        self._busy = False
        self._thread: threading.Thread | None = None

    def __call__(self, value: _T) -> None:
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="telling", daemon=True)
                self._thread.start()
            self._values.append(value)
            self._changed.notify_all()

    def drain(self) -> bool:
        """Wait a moment; return True when the listener has got all values."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._values and not self._busy, _CLOSE_S)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: bool(self._values))
                value, self._busy = self._values.popleft(), True
            self._call(value)


_STREAMS: Final[list[TellingStream]] = []


def tell() -> None:
    """Make the process's standard output and error streams that only inform. `answer` then sets whether the output is the command's only result."""
    for number in range(3):  # a file that is opened must not be taken for one of them
        with contextlib.suppress(OSError):
            _be_open(number)
    names = ("standard output", "standard error")
    known = (sys.stdout, sys.stderr)
    out, err = (
        TellingStream(number, name, getattr(stream, "encoding", None) or "utf-8")
        for number, name, stream in zip((1, 2), names, known, strict=True)
    )
    out.elsewhere = err  # and not the other way: programs read the output
    out.answers = True
    _STREAMS[:] = [out, err]
    sys.stdout, sys.stderr = out, err


def answer(*, only: bool) -> None:
    """Set whether the output is the command's only result."""
    for stream in _STREAMS[:1]:
        stream.answers = only


def troubles() -> tuple[str, ...]:
    """Return the faults of standard output and error so far, for a report."""
    return tuple(stream.said for stream in _STREAMS if stream.said)


def drain() -> None:
    """Wait at the end of the process until output is written, as long as readers still read."""
    for stream in _STREAMS:
        stream.drain()


def _be_open(number: int) -> None:
    try:
        os.fstat(number)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest that is free: this one, as those below it are open
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
