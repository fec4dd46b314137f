# SPDX-License-Identifier: Apache-2.0
"""Reads image files, and arrays of HDF5 files, in a separate process. Its arguments are a JSON file with the requests, and a file descriptor to which
it writes the pixels in order. For each file it writes a line of JSON to the answer pipe: the content, or the reason why it cannot be read."""

import errno
import json
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.array_file import sides, some_of
from rashpa.data.files.file_names import is_hdf5
from rashpa.data.files.image_formats.frames import read_frames
from rashpa.data.files.limited_process import private_output

PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
_MOST_NAMED = 10


def _read(wanted: dict[str, Any], out: int) -> dict[str, Any]:
    """Append the requested frames of one file to `out`; return their number, shape and type."""
    found: dict[str, Any] = {}
    for number, frame in enumerate(_frames(wanted)):
        if frame.ndim != 2 or (wanted["shape"] is None and frame.dtype.name not in PIXELS):
            raise ValueError(f"a frame of {frame.ndim} axes of {frame.dtype} is no image of pixels")
        kind = {"shape": list(frame.shape), "dtype": frame.dtype.name}
        if found and kind != {key: found[key] for key in kind}:
            raise ValueError(f"frame {number} is {kind}, the first is {found}")
        found = {**kind, "frames": number + 1}
        _write(out, np.ascontiguousarray(frame, frame.dtype.newbyteorder("<")))
    if not found:
        raise ValueError("it holds no frames")
    return found


def _frames(wanted: dict[str, Any]) -> Iterator[NDArray[Any]]:
    path = Path(wanted["path"])
    if wanted["shape"] is None:
        yield from read_frames(path)
        return
    shape = tuple(wanted["shape"])
    if is_hdf5(path):
        from rashpa.data.files.hdf5_array import hdf5_array  # with HDF5, which images do not need

        array = hdf5_array(path, wanted["inner"], shape)
        yield from array if array.ndim == 3 else [array]
    else:
        yield from _only(list(read_frames(path)), path.name, wanted["frame"], shape)


def _only(frames: list[NDArray[Any]], name: str, number: int | None, shape: tuple[int, ...]) -> list[NDArray[Any]]:
    """Return the frames that form the one array of `shape`. Raise ValueError that lists the arrays when none fits, or several."""
    if number is not None:
        if number >= len(frames):
            raise ValueError(f"it has no frame {number}; it has {_listed(frames, name)}")
        frames = [frames[number]]
    fitting = [frame for frame in frames if frame.shape == shape[-2:]]
    if len(fitting) == (shape[0] if len(shape) == 3 else 1):
        return fitting
    if len(frames) == 1 and len(shape) == 2:
        return frames  # of another shape, which is said with both
    hint = f"; name one of them: {name}#0" if len(fitting) > 1 and len(shape) == 2 else ""
    raise ValueError(f"{len(fitting)} of its frames fit {sides(shape)}; it has {_listed(frames, name) or 'none'}{hint}")


def _listed(frames: list[NDArray[Any]], name: str) -> str:
    return some_of([f"{name}#{number} ({sides(frame.shape)} {frame.dtype})" for number, frame in enumerate(frames)])


def _write(out: int, frame: Any) -> None:
    left = memoryview(frame).cast("B")
    while left:
        left = left[os.write(out, left) :]


def _main() -> None:
    answers = private_output()
    wanted, out = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), int(sys.argv[2])
    for one in wanted:
        try:
            answer = _read(one, out)
        except OSError as error:
            most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
            answer = {
                "error": f"it unpacks to more than {most} bytes" if error.errno == errno.EFBIG else str(error)[:500]
            }
        except MemoryError:
            answer = {"error": "it asks for more memory than the limit"}
        except Exception as error:  # noqa: BLE001 (fabio raises many kinds for a file it cannot read)
            answer = {"error": (str(error) or f"{type(error).__name__} in the library that reads it")[:2000]}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    _main()
