# SPDX-License-Identifier: Apache-2.0
"""Lines in a file that is bounded: when it is full it becomes the first of two older ones, node.1.log and node.2.log beside node.log."""

import os
import threading
from pathlib import Path

FILE_BYTES = 10 << 20
OLDER = 2


class RotatingFile:
    """Of one process. Any thread. What cannot be written is counted, and said in the file when that is possible again; nothing raises but the
    beginning."""

    def __init__(self, path: Path, file_bytes: int = FILE_BYTES, mode: int = 0o644) -> None:
        """OSError when it cannot be written. `mode`: of a new file, less the umask."""
        self._path = path
        self._file_bytes = file_bytes
        self._mode = mode
        self._guard = threading.Lock()
        self._lost = 0
        self._file = self._open()

    def write(self, line: str) -> bool:
        """Whether it is in the file now."""
        with self._guard:
            try:
                lost = f"{self._lost} lines could not be written\n" if self._lost else ""
                self._put(f"{lost}{line}\n".encode(errors="replace"))
            except OSError:
                self._lost += 1
                return False
            self._lost = 0
            return True

    def close(self) -> None:
        with self._guard:
            os.close(self._file)

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
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, self._mode)
