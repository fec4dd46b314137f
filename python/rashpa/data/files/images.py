# SPDX-License-Identifier: Apache-2.0
"""Loads image files of the field (CBF, TIFF, EDF, others with fabio) and arrays of HDF5 files into memory.

A foreign file can make a library loop, crash, or allocate any amount of memory. So a separate process (image_process.py) reads it under limits, and
its results are checked.
"""

import fcntl
import importlib.util
import json
import math
import mmap
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.base.bad_file import BadFileError, advised
from rashpa.data.base.extras import WITHOUT_FABIO
from rashpa.data.files.file_names import HDF5, ArrayName, without_packing
from rashpa.data.files.limited_process import Limits, start_limited, why_it_ended
from rashpa.data.files.regular_file import open_regular, reason

SUFFIXES = (".cbf", ".tif", ".tiff", ".edf")
_PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
_NUMBERS = (*_PIXELS, "bool", "int8", "int64", "uint64", "float16", "float64")
_OWN = (*SUFFIXES, *HDF5)  # kinds that are read without fabio
_LARGEST_SIDE = 65536
_LONGEST_ANSWER = 4096


@dataclass(frozen=True)
class Patience:
    """Limits the time for one file, both elapsed time and processor time."""

    seconds: float = 30.0
    """Any file, the start of the process included."""
    bytes_a_second: float = 2e6
    """And so much longer for its size, compressed as it lies there."""

    def of(self, size: int) -> float:
        return self.seconds + size / self.bytes_a_second


def is_image(path: Path | str) -> bool:
    """Return True when the name is that of an image: its ending is one of SUFFIXES, alone or followed by .bz2, .gz or .zst."""
    return without_packing(path).endswith(SUFFIXES)


def read_images(
    paths: Sequence[Path | str], patience: Patience | None = None, limits: Limits | None = None
) -> NDArray[Any]:
    """Return all frames of all files in order, [frame][row][column]; all must have one shape and type. Raise FileError for a file that cannot be
    read, or not within `patience` and `limits`; the seconds of `limits` are ignored."""
    if not paths:
        raise _native.FileError("dataset: no image files; give at least one")
    try:
        return _read([_Wanted(str(path)) for path in paths], patience or Patience(), limits or Limits())
    except _ImageFileError as error:
        raise _native.FileError(advised(f"dataset: {error}", "copy it again, or give another")) from None


def read_one_array(name: ArrayName, shape: tuple[int, ...], patience: Patience | None = None) -> NDArray[Any]:
    """Return the named array, or the only array of `shape`, [row][column] or [gain][row][column]. Raise ValueError that begins with the file; it
    lists the arrays when none fits, or several."""
    wanted = _Wanted(name.file, name.frame, name.inner, shape)
    found = _read([wanted], patience or Patience(), Limits())
    return found[0] if len(shape) == 2 and len(found) == 1 else found


class _ImageFileError(BadFileError):
    """Reports a file that cannot be read; the text begins with its name."""


@dataclass(frozen=True)
class _Wanted:
    """Describes the request for one file. `shape`: the shape of the only array to return; None: all frames, of any shape."""

    path: str
    frame: int | None = None
    inner: str = ""
    shape: tuple[int, ...] | None = None

    @property
    def types(self) -> tuple[str, ...]:
        return _PIXELS if self.shape is None else _NUMBERS


def _read(wanted: Sequence[_Wanted], patience: Patience, limits: Limits) -> NDArray[Any]:
    allowed = [patience.of(_size_of(one.path)) for one in wanted]
    if (
        any(not without_packing(one.path).endswith(_OWN) for one in wanted)
        and importlib.util.find_spec("fabio") is None
    ):
        raise _ImageFileError(f"{wanted[0].path}: {WITHOUT_FABIO}")
    limits = replace(limits, seconds=math.ceil(sum(allowed)))
    with tempfile.TemporaryDirectory(prefix="rashpa-") as folder, _memory_file() as pixels:
        (Path(folder) / "wanted.json").write_text(json.dumps([asdict(one) for one in wanted]), encoding="utf-8")
        process = start_limited(
            "rashpa.data.files.image_process",
            [f"{folder}/wanted.json", str(pixels)],
            limits,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[pixels],
            environment={"TMPDIR": folder},
        )
        with process:
            try:
                return _collect(process, wanted, allowed, limits, pixels)
            finally:
                process.kill()


@contextmanager
def _memory_file() -> Iterator[int]:
    number = os.memfd_create("images", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        yield number
    finally:
        os.close(number)


def _size_of(path: str) -> int:
    try:
        with open_regular(path) as file:
            return os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise _ImageFileError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise _ImageFileError(f"{path}: {reason(error) if isinstance(error, OSError) else error}") from None


@dataclass(frozen=True)
class _Found:
    """Describes the content of a file: the checked report of the process that has read it."""

    frames: int
    height: int
    width: int
    dtype: str

    @property
    def bytes(self) -> int:
        return self.frames * self.height * self.width * np.dtype(self.dtype).itemsize


def _collect(
    process: "subprocess.Popen[bytes]",
    wanted: Sequence[_Wanted],
    allowed: Sequence[float],
    limits: Limits,
    pixels: int,
) -> NDArray[Any]:
    """Read the process's answers, one line for each file, each within its allowed seconds; return the frames."""
    assert process.stdout is not None  # noqa: S101 (it is a pipe)
    lines = _Lines(process.stdout.fileno())
    first: _Found | None = None
    frames = total = 0
    for one, seconds in zip(wanted, allowed, strict=True):
        path = one.path
        line = lines.next(seconds)
        if line is None:
            raise _ImageFileError(_too_slow(path, seconds))
        if not line:
            why = why_it_ended(process.wait(), limits)
            raise _ImageFileError(f"{path}: {why}")
        found = _checked(one, line)
        if first is not None and replace(found, frames=1) != replace(first, frames=1):
            raise _ImageFileError(
                f"{path}: {found.width} x {found.height} {found.dtype}, not "
                f"{first.width} x {first.height} {first.dtype} as the frames before it"
            )
        first = first or found
        frames, total = frames + found.frames, total + found.bytes
    # the process that read them still lives, and could cut what is mapped here
    fcntl.fcntl(pixels, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    if first is None or os.fstat(pixels).st_size != total:
        raise _ImageFileError(f"{wanted[0].path}: the process that reads images handed over too few pixels")
    whole = np.frombuffer(mmap.mmap(pixels, total, prot=mmap.PROT_READ), np.dtype(first.dtype).newbyteorder("<"))
    return whole.reshape(frames, first.height, first.width).astype(first.dtype, copy=False)


def _too_slow(path: str, seconds: float) -> str:
    return (
        f"{path}: it could not be read within {seconds:.0f} s; it is damaged, or its storage is slow: "
        "copy it again, to a faster disk"
    )


def _checked(wanted: _Wanted, line: bytes) -> _Found:
    """Return the process's answer about one file. It is checked, because the process has read foreign bytes."""
    path = wanted.path
    try:
        answer = json.loads(line)
        if "error" in answer:
            said = str(answer["error"])
            raise _ImageFileError(said if said.startswith(f"{path}: ") else f"{path}: {said}")
        height, width = (int(side) for side in answer["shape"])
        found = _Found(int(answer["frames"]), height, width, str(answer["dtype"]))
    except _ImageFileError:
        raise
    except (ValueError, KeyError, TypeError):
        raise _ImageFileError(f"{path}: the process that reads images said {line[:80]!r}") from None
    sides = (found.height, found.width)
    if found.dtype not in wanted.types or found.frames < 1 or not all(1 <= side <= _LARGEST_SIDE for side in sides):
        raise _ImageFileError(
            f"{path}: {found.frames} frames of {found.width} x {found.height} {found.dtype} are no image of pixels"
        )
    return found


class _Lines:
    """Reads lines from a pipe, each within a time limit; a line that is too long is cut."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._bytes = b""

    def next(self, seconds: float) -> bytes | None:
        """Return the next line, empty when the other end was closed, None when none came in time."""
        end = time.monotonic() + seconds
        while b"\n" not in self._bytes and len(self._bytes) < _LONGEST_ANSWER:
            if not select.select([self._pipe], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            some = os.read(self._pipe, _LONGEST_ANSWER)
            if not some:
                return b""
            self._bytes += some
        line, _, self._bytes = self._bytes.partition(b"\n")
        return line
