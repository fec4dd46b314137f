# SPDX-License-Identifier: Apache-2.0
"""Reads the frames of an image file, plain or compressed by gzip, bzip2 or zstd. The case of its name does not matter."""

import bz2
import gzip
import mmap
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import zstandard
from numpy.typing import NDArray

from rashpa.data.files.file_names import without_packing
from rashpa.data.files.image_formats.cbf import cbf_frames
from rashpa.data.files.image_formats.edf import edf_frames
from rashpa.data.files.image_formats.foreign import foreign_frames
from rashpa.data.files.image_formats.image_error import ImageError
from rashpa.data.files.image_formats.tiff import tiff_frames

_READERS: dict[str, Callable[[memoryview], Iterator[NDArray[Any]]]] = {
    ".tif": tiff_frames,
    ".tiff": tiff_frames,
    ".cbf": cbf_frames,
    ".edf": edf_frames,
}


def read_frames(path: Path) -> Iterator[NDArray[Any]]:
    """Yield each frame, in the byte order of this machine. Raise ImageError, errors of the operating system and, for other formats, errors of fabio."""
    name = Path(without_packing(path))
    with _plain(path, name) as plain:
        reader = _READERS.get(name.suffix)
        if reader is None:
            yield from foreign_frames(plain)
            return
        with plain.open("rb") as file:
            if not file.seek(0, 2):
                raise ImageError("it is empty; copy it again")
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as whole, memoryview(whole) as data:
                yield from reader(data)


@contextmanager
def _plain(path: Path, name: Path) -> Iterator[Path]:
    """Yield the file itself or a decompressed copy; the limits of the process bound the copy's size."""
    packing = str(path).lower().removeprefix(str(name))
    if not packing:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="unpacked-") as folder:
        plain = Path(folder) / name.name
        with path.open("rb") as source, plain.open("wb") as target:
            _unpack(source, target, packing)
        yield plain


def _unpack(source: IO[bytes], target: IO[bytes], packing: str) -> None:
    try:
        if packing == ".zst":
            _unpack_zstd(source, target)
        else:
            with gzip.open(source) if packing == ".gz" else bz2.open(source) as unpacked:
                shutil.copyfileobj(unpacked, target)
    except (EOFError, zstandard.ZstdError, gzip.BadGzipFile, ValueError) as error:
        raise ImageError(f"it cannot be unpacked ({error}); copy it again") from None


def _unpack_zstd(source: IO[bytes], target: IO[bytes]) -> None:
    """Decompress consecutive zstd frames; the last one must be complete."""
    piece = source.read(1 << 20)
    while piece:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while piece and not frame.eof:
            target.write(frame.decompress(piece))
            piece = frame.unused_data or source.read(1 << 20)
        if not frame.eof:
            raise ImageError("it ends before its packed content does; copy it again")
