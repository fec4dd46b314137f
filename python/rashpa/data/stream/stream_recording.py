# SPDX-License-Identifier: Apache-2.0
"""Reads recorded messages of Stream V2, from a folder with a file for each message, or from one file with all messages."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.files.bounded_cbor import item_place
from rashpa.data.stream.stream2 import MOST_MESSAGE_BYTES

MOST_FILES = 1 << 20
_PIECE = 1 << 20


class RecordingError(RashpaError, ValueError):
    """Reports a recording that is missing or cannot be read; the text names the file and the reason."""


def recorded_messages(path: Path) -> Iterator[memoryview]:
    """Yield messages. From a folder, yield the files *.cbor in the order of their names, with numbers ordered by value. From a file, yield its CBOR
    items in sequence; an item that is a byte string contains a message. A view is valid until the next one. Raise RecordingError."""
    for file in _files(path):
        yield from _messages_of(file)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    try:
        found = [path / one.name for one in os.scandir(path) if one.name.endswith(".cbor")]
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None
    if not 0 < len(found) <= MOST_FILES:
        raise RecordingError(f"{path}: {len(found)} files *.cbor; a recording has 1 … {MOST_FILES}")
    return sorted(found, key=_in_order)


def _in_order(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that puts start before numbers, end after them, and 2 before 10."""
    parts: list[tuple[int, str]] = []
    for part in re.split(r"(\d+|start|end)", path.stem.lower()):
        if part.isdecimal():
            parts.append((int(part[:18]), ""))
        elif part:
            parts.append((-2 if part == "start" else 1 << 62 if part == "end" else -1, part))
    return parts


def _messages_of(path: Path) -> Iterator[memoryview]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise RecordingError(f"{path} is no file with messages; give a recording")
        if facts.st_size == 0:
            raise RecordingError(f"{path} is empty; give a recording")
        try:
            yield from _items(file, facts.st_size)
        except OSError as error:
            raise RecordingError(f"{path}: {error.strerror}") from None


def _items(file: io.FileIO, size: int) -> Iterator[memoryview]:
    """Yield the CBOR items of a file. The file is read and not mapped, because another process may shorten it.

    Bytes that are no CBOR item are yielded as they are, so that the caller refuses them with a reason; later items cannot be found.
    """
    held = bytearray()
    at = 0  # of the file, behind the held bytes
    while True:
        wanted = min(max(_PIECE, 2 * len(held)), MOST_MESSAGE_BYTES) - len(held)
        new = file.read(min(wanted, max(0, size - at))) if wanted > 0 else b""
        held += new
        at += len(new)
        if not held:
            return
        whole = not new  # there is no more of it, or no more is read of one message
        with memoryview(held) as view:
            done = 0
            while done < len(view):
                with view[done:] as rest:
                    first, end = item_place(rest)
                    if end == len(rest) and not whole:
                        break  # the rest of it may not be read yet
                    with rest[first:end] as message:
                        yield message
                done += end
        del held[:done]
