# SPDX-License-Identifier: Apache-2.0
"""Writes lines to a file of bounded size: a full file is renamed, and two older ones are kept, node.1.log and node.2.log beside node.log."""

import os
from pathlib import Path

from rashpa.data.base.telling import Behind

FILE_BYTES = 10 << 20
OLDER = 2


class RotatingFile:
    """Writes lines of one process, from any thread. It counts lines that cannot be written, and reports them in the file when writing is possible
    again. Only the constructor raises, and no caller waits for a disk that hangs (`Behind`)."""

    def __init__(self, path: Path, file_bytes: int = FILE_BYTES, mode: int = 0o644) -> None:
        """Open the file. Raise OSError when it cannot be written. `mode`: the mode of a new file, before the umask."""
        self._path = path.absolute()  # kernels of others may change the working folder
        self._file_bytes = file_bytes
        self._mode = mode
        self._lost = 0
        self._file = self._open()
        self._behind = Behind(self._take)

    def write(self, line: str) -> bool:
        """Write a line; return True when the file has it now."""
        return self._behind.put(f"{line}\n".encode(errors="replace"))

    def close(self) -> None:
        if self._behind.drain():  # else the thread still has it
            os.close(self._file)

    def _take(self, line: bytes, left_out: int) -> bool:
        self._lost += left_out
        try:
            lost = f"{self._lost} lines could not be written\n".encode() if self._lost else b""
            self._put(lost + line)
        except OSError:
            self._lost += 1
            return False
        self._lost = 0
        return True

    def _put(self, data: bytes) -> None:
        size = os.fstat(self._file).st_size
        if size and size + len(data) > self._file_bytes:
            self._rotate()
        while data:
            data = data[os.write(self._file, data) :]

    def _rotate(self) -> None:
        for number in range(OLDER, 0, -1):
            newer = self._named(number - 1)
            if newer.exists():
                newer.replace(self._named(number))
        file = self._open()
        os.close(self._file)
        self._file = file

    def _named(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.stem}.{number}{self._path.suffix}") if number else self._path

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(self._path, flags | os.O_NONBLOCK, self._mode)  # a pipe that nobody reads waits for nobody
