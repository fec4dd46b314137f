# SPDX-License-Identifier: Apache-2.0
"""Reads images of an HDF5 file in a separate process under limits, because foreign bytes can make the HDF5 library crash, loop, or take all memory.

The process gets a line of JSON, `[first, count]`. It answers with a line of JSON and with the bytes that the line announces. All its answers are
checked.
"""

from __future__ import annotations

import io
import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol, cast, get_args

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import blaming, no_memory
from rashpa.data.base.books import DataBooks
from rashpa.data.base.masking_names import MaskedName
from rashpa.data.files.limited_process import (
    Limits,
    is_own_end,
    limit_more_memory,
    private_output,
    start_limited,
    why_it_ended,
)
from rashpa.data.geometry.orientation import Orientation
from rashpa.data.stored.stored_piece import (
    FACTS,
    LARGEST_SIDE,
    PIXELS,
    Absent,
    Piece,
    Reading,
    Stated,
    StatedModule,
    StatedRun,
    Stored,
    StoredError,
)

_LONGEST_ANSWER = 1 << 20
_LONGEST_TEXT = 4000
_MOST_ABSENT = 1 << 27
_MOST_SPECIAL = 16
_MOST_MODULES = 4096
_SPARE_MEMORY = 512 << 20
"""That reading a piece takes besides the piece, however much a chunk would unpack to."""
_COPIES = 6
_SECONDS = 60.0
_BYTES_A_SECOND = 2e6
_GRACE = 10.0
_MOST_SECONDS = (
    7 * 24 * 3600
)  # of processor time: longer than any file takes; each answer has its own time by the clock


class Served(Stored, Protocol):
    """Declares the reader that the separate process uses."""

    def bytes_of(self, count: int) -> int:
        """Return the number of bytes of `count` decompressed images."""


class LimitedStored:
    """Reads a file with another process."""

    def __init__(self, path: Path, reading: Reading | None = None, seconds: float = _SECONDS) -> None:
        """Open the file. Raise StoredError when it cannot be read, or when it lacks images and `reading` does not allow that."""
        reading = reading or Reading()
        folders = [str(folder) for folder in reading.folders_for(path)]
        self._path = path
        self._seconds = seconds
        self._limits = Limits(seconds=_MOST_SECONDS)
        asked, self._asks = os.pipe()
        try:
            self._process = start_limited(
                "rashpa.data.stored.stored_images",
                [str(path), str(asked), json.dumps([folders, reading.allow_missing])],
                self._limits,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[asked],
            )
        except BaseException:
            os.close(self._asks)
            raise
        finally:
            os.close(asked)
        assert self._process.stdout is not None  # noqa: S101 (it is a pipe)
        self._pipe = io.FileIO(self._process.stdout.fileno(), closefd=False)
        try:
            said = self._answer(time.monotonic() + seconds)
            self.frames, self.shape, self.pixel = self._kind(said)
            self.absent = self._absent(said, time.monotonic() + seconds)
            self.stated = self._stated(said)
        except BaseException:
            self.close()
            raise

    def read(self, first: int, count: int) -> Piece:
        image_bytes = self.shape[0] * self.shape[1] * np.dtype(self.pixel).itemsize
        end = time.monotonic() + self._seconds + count * image_bytes / _BYTES_A_SECOND
        try:
            os.write(self._asks, json.dumps([first, count]).encode() + b"\n")
        except BrokenPipeError:
            raise self._ended() from None
        said = self._answer(end)
        known = said.get("facts", [])
        if not isinstance(known, list) or not set(known) <= set(FACTS):
            raise self._nonsense()
        images = np.empty((count, *self.shape), np.dtype(self.pixel))
        self._fill(images, end)
        facts = {name: np.empty(count, FACTS[name]) for name in FACTS if name in known}
        for values in facts.values():
            self._fill(values, end)
        return Piece(images, **cast("dict[str, Any]", facts))

    def close(self) -> None:
        """End the process."""
        os.close(self._asks)
        self._process.kill()
        with self._process:
            pass

    def _kind(self, said: dict[str, Any]) -> tuple[int, tuple[int, int], str]:
        try:
            height, width = (int(side) for side in said["shape"])
            frames, pixel = int(said["frames"]), str(said["pixel"])
        except (ValueError, KeyError, TypeError):
            raise self._nonsense() from None
        possible = all(1 <= side <= LARGEST_SIDE for side in (height, width)) and 0 <= frames < 1 << 40
        if not possible or pixel not in PIXELS:
            raise StoredError(
                f"{self._path}: {frames} images of {width} × {height} {pixel} are impossible; copy it again"
            )
        return frames, (height, width), pixel

    def _absent(self, said: dict[str, Any], end: float) -> Absent:
        count = said.get("absent", 0)
        if not isinstance(count, int) or not 0 <= count <= min(self.frames, _MOST_ABSENT):
            raise self._nonsense()
        places = np.empty(count, np.int64)
        self._fill(places, end)
        if count and not (places[0] >= 0 and places[-1] < self.frames and bool((np.diff(places) > 0).all())):
            raise self._nonsense()
        return Absent(places, str(said.get("said", ""))[:_LONGEST_TEXT])

    def _stated(self, said: dict[str, Any]) -> Stated:
        special = said.get("special")
        names = [name for name in get_args(MaskedName) if name == said.get("masked")]
        if not names or not isinstance(special, list) or len(special) > _MOST_SPECIAL:
            raise self._nonsense()
        try:
            run = None if said.get("run") is None else self._run(said["run"])
            return Stated(names[0], tuple((int(value), str(meaning)) for value, meaning in special), run)
        except (TypeError, ValueError, KeyError):
            raise self._nonsense() from None

    def _run(self, said: dict[str, Any]) -> StatedRun:
        """Return the facts of a run from the process's answer. Raise ValueError, TypeError or KeyError when they are impossible."""
        modules = []
        for x, y, width, height, turn, flip in said["modules"][:_MOST_MODULES]:
            place = (int(x), int(y), int(width), int(height))
            inside = x + width <= self.shape[1] and y + height <= self.shape[0]
            if min(x, y) < 0 or min(width, height) < 1 or not inside or turn not in (0, 90, 180, 270):
                raise ValueError(f"a module at {place}, turned by {turn}, is impossible")
            modules.append(StatedModule(*place, Orientation(int(turn), bool(flip))))
        return StatedRun(str(said["units"])[:_LONGEST_TEXT], tuple(modules), DataBooks.of_json(said["books"]))

    def _answer(self, end: float) -> dict[str, Any]:
        line = bytearray()
        while not line.endswith(b"\n") and len(line) < _LONGEST_ANSWER:
            self._wait(end)
            one = self._pipe.read(1)  # the bytes after the line are for others
            if not one:
                raise self._ended()
            line += one
        try:
            said = json.loads(line)
        except ValueError:
            raise self._nonsense() from None
        if not isinstance(said, dict):
            raise self._nonsense()
        if "error" in said:
            raise StoredError(str(said["error"]))
        if "no_memory" in said:
            raise MemoryError(str(said["no_memory"]))
        return said

    def _fill(self, array: NDArray[Any], end: float) -> None:
        left = array.reshape(-1).view(np.uint8).data
        while left:
            self._wait(end)
            got = self._pipe.readinto(left)
            if not got:
                raise self._ended()
            left = left[got:]

    def _wait(self, end: float) -> None:
        if not select.select([self._pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            raise StoredError(
                f"{self._path}: it could not be read in time; it is damaged, or its storage is slow: copy it again, to a faster disk"
            )

    def _ended(self) -> StoredError | MemoryError:
        try:
            status = self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return StoredError(f"{self._path}: the process that reads it says no more; it is damaged: copy it again")
        kind = MemoryError if is_own_end(status, self._limits) else StoredError
        return kind(f"{self._path}: {why_it_ended(status, self._limits)}")

    def _nonsense(self) -> StoredError:
        return StoredError(
            f"{self._path}: the process that reads it gave an impossible answer; it is damaged: copy it again"
        )


def serve(path: Path, asked: IO[str], opened: Callable[[Path], Served]) -> None:
    """Describe the file and send images, in the separate process, until the requests end."""
    out = private_output()

    def say(**values: Any) -> None:
        out.write(json.dumps(values).encode() + b"\n")

    try:
        with blaming(f"{path}: it is damaged", StoredError):
            stored = opened(path)
            absent = stored.absent
            known: dict[str, Any] = {"absent": len(absent.images), "said": absent.said[:_LONGEST_TEXT]}
            known |= {
                "masked": stored.stated.masked,
                "special": stored.stated.special,
                "run": _said_of_run(stored.stated.run),
            }
            say(frames=stored.frames, shape=stored.shape, pixel=stored.pixel, **known)
            out.write(absent.images.data)
        out.flush()
        for line in asked:
            first, count = json.loads(line)
            piece = _read(path, stored, first, count)
            _give(piece, stored, (first, count), say, out)
            out.flush()
    except StoredError as error:
        say(error=str(error)[:2000])
    except MemoryError as error:
        say(no_memory=f"{path}: {no_memory(error)}"[:2000])
    out.flush()


def _said_of_run(run: StatedRun | None) -> dict[str, Any] | None:
    if run is None:
        return None
    modules = [[one.x, one.y, one.width, one.height, one.way.turn, one.way.flip] for one in run.modules]
    return {"units": run.units, "modules": modules, "books": run.books.as_json()}


def _read(path: Path, stored: Served, first: int, count: int) -> Piece:
    """Read images with a memory limit for them and a reserve, so that a filter that allocates gigabytes fails."""
    needed = _SPARE_MEMORY + _COPIES * stored.bytes_of(count)
    granted = limit_more_memory(needed)
    try:
        with blaming(f"{path}: it is damaged", StoredError):
            return stored.read(first, count)
    except MemoryError:
        if not granted:
            raise
        raise StoredError(
            f"{path}: images {first} … {first + count - 1} unpack to more than the {stored.bytes_of(count)} bytes that they declare; copy it again"
        ) from None


def _give(piece: Piece, stored: Stored, asked: tuple[int, int], say: Callable[..., None], out: IO[bytes]) -> None:
    facts = {name: getattr(piece, name) for name in FACTS}
    known = {name: values for name, values in facts.items() if values is not None}
    images = np.ascontiguousarray(piece.images, np.dtype(stored.pixel))
    if images.shape != (asked[1], *stored.shape):
        raise StoredError(f"images {asked[0]} … are of another shape than the file says; copy it again")
    say(facts=list(known))
    out.write(images.data)
    for name, values in known.items():
        out.write(np.ascontiguousarray(values, FACTS[name]).data)
