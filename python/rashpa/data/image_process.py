# SPDX-License-Identifier: Apache-2.0
"""The process in which fabio reads image files. Arguments: a file of JSON with their paths, and a file descriptor that takes the pixels of all
frames one after the other. Standard output gets a line of JSON a file: what it holds, or why it cannot be read."""

import errno
import json
import logging
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fabio
import numpy as np
import zstandard

PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")


def _read(path: Path, out: int) -> dict[str, Any]:
    """Appends the frames of one file to `out`; says how many they are and of which shape and type."""
    found: dict[str, Any] = {}
    with _unpacked(path) as plain, fabio.open(str(plain)) as image:
        for number in range(image.nframes):
            frame = np.asarray(image.get_frame(number).data)
            if frame.ndim != 2 or frame.dtype.name not in PIXELS:
                raise ValueError(f"a frame of {frame.ndim} axes of {frame.dtype} is no image of pixels")
            kind = {"shape": list(frame.shape), "dtype": frame.dtype.name}
            if found and kind != {key: found[key] for key in kind}:
                raise ValueError(f"frame {number} is {kind}, the first is {found}")
            found = {**kind, "frames": number + 1}
            _write(out, np.ascontiguousarray(frame, frame.dtype.newbyteorder("<")))
    if not found:
        raise ValueError("it holds no frames")
    return found


def _write(out: int, frame: Any) -> None:
    left = memoryview(frame).cast("B")
    while left:
        left = left[os.write(out, left) :]


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """fabio reads .bz2 and .gz by itself; .zst is unpacked into a file for it, which the limits bound."""
    if path.suffix != ".zst":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="unpacked-") as folder:
        plain = Path(folder) / path.stem
        with path.open("rb") as source, plain.open("wb") as target:
            zstandard.ZstdDecompressor().copy_stream(source, target)
        yield plain


def _main() -> None:
    logging.disable(logging.CRITICAL)  # fabio logs what it also raises
    paths, out = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), int(sys.argv[2])
    for path in paths:
        try:
            answer = _read(Path(path), out)
        except OSError as error:
            most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
            answer = {
                "error": f"it unpacks to more than {most} bytes" if error.errno == errno.EFBIG else str(error)[:500]
            }
        except MemoryError:
            answer = {"error": "it asks for more memory than the limit"}
        except Exception as error:  # noqa: BLE001 (fabio raises many kinds for a file it cannot read)
            answer = {"error": (str(error) or type(error).__name__)[:500]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
