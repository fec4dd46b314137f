"""Image files of the field (CBF, TIFF, EDF) through fabio, into memory."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fabio
import numpy as np
import zstandard
from numpy.typing import NDArray

from rashpa import _native

SUFFIXES = (".cbf", ".tif", ".tiff", ".edf")
_PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")


def is_image(path: Path | str) -> bool:
    """By name: one of SUFFIXES, plain or compressed with .bz2, .gz or .zst."""
    name = str(path).lower()
    for packed in (".bz2", ".gz", ".zst"):
        name = name.removesuffix(packed)
    return name.endswith(SUFFIXES)


def read_images(paths: Sequence[Path | str]) -> NDArray[Any]:
    """[frame][row][column] of all frames of all files, in order; all must have one shape and type. Raises FileError."""
    frames: list[NDArray[Any]] = []
    for path in paths:
        for frame in _frames(Path(path)):
            if frames and (frame.shape != frames[0].shape or frame.dtype != frames[0].dtype):
                raise _native.FileError(
                    f"dataset: {path}: {frame.shape[1]} x {frame.shape[0]} {frame.dtype}, not "
                    f"{frames[0].shape[1]} x {frames[0].shape[0]} {frames[0].dtype} as the frames before it"
                )
            frames.append(frame)
    if not frames:
        raise _native.FileError("dataset: no image files; give at least one")
    return np.stack(frames)


def _frames(path: Path) -> Iterator[NDArray[Any]]:
    if not path.is_file():
        raise _native.FileError(f"dataset: {path}: no such file")
    try:
        with _unpacked(path) as plain, fabio.open(str(plain)) as image:
            found = [np.array(image.get_frame(i).data) for i in range(image.nframes)]
    except Exception as error:  # noqa: BLE001 (fabio raises many kinds for a file it cannot read)
        raise _native.FileError(f"dataset: {path}: {error}") from None
    for frame in found:
        if frame.ndim != 2 or frame.dtype.name not in _PIXELS:
            raise _native.FileError(
                f"dataset: {path}: a frame of {frame.ndim} axes of {frame.dtype} is no image of pixels"
            )
        yield np.ascontiguousarray(frame, frame.dtype.newbyteorder("="))


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """fabio reads .bz2 and .gz by itself; .zst is unpacked into a file for it."""
    if path.suffix != ".zst":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="rashpa-") as folder:
        plain = Path(folder) / path.stem
        with path.open("rb") as source, plain.open("wb") as target:
            zstandard.ZstdDecompressor().copy_stream(source, target)
        yield plain
