# SPDX-License-Identifier: Apache-2.0
"""NXmx of a run that the sink `raw` has written: the native module reads the index and the raw files, and writes as the sink `hdf5` does.

It does so in a process of its own, under limits: the run may come from anywhere, and its tables and facts are read by HDF5.
"""

import json
import math
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rashpa import _native
from rashpa.data.images import Patience
from rashpa.data.limited_process import Limits, start_limited, why_it_ended
from rashpa.data.regular_file import open_regular, reason
from rashpa.data.run_parts import MASTER, RunFileError

_THREAD_BYTES = 256 << 20  # of address space: its stack, its part of the heap
_LEAST_FILE = 4 << 30


@dataclass(frozen=True)
class Converted:
    """What became of it. `lost`: images of the index that are not whole in the raw files; `unknown`: images of which nothing is known."""

    master: Path
    stored: int
    lost: int
    unknown: int


def convert_run(
    run: Path,
    to: Path,
    *,
    existing: Literal["refuse", "replace"] = "refuse",
    images_per_file: int = 1000,
    threads: int = 1,
    patience: Patience | None = None,
) -> Converted:
    """`run`: the _raw_master.h5, or the prefix of its name; `to`: a master, or a prefix. `patience`: of the clock, and of as many
    processors as there are threads. RunFileError says why it cannot be."""
    source, target = (str(path).removesuffix(MASTER) for path in (run, to))
    size = _size_of(source)
    standard = Limits()
    allowed = math.ceil((patience or Patience(seconds=300.0)).of(size))
    limits = Limits(
        seconds=(threads + 1) * allowed,
        memory_bytes=standard.memory_bytes + threads * _THREAD_BYTES,
        file_bytes=max(_LEAST_FILE, 4 * size),
    )
    asked = json.dumps([source, target, existing == "replace", images_per_file, threads])
    process = start_limited("rashpa.data.convert", [asked], limits, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        try:
            out, _ = process.communicate(timeout=allowed)
        except subprocess.TimeoutExpired:
            process.kill()
            raise RunFileError(
                f"{run}: it could not be converted within {allowed} s; is its storage slow, or the run damaged?"
            ) from None
        except BaseException:
            process.kill()
            raise
    try:
        said = json.loads(out)
        if "error" not in said:
            numbers = (int(said[name]) for name in ("stored", "lost", "unknown"))
            return Converted(Path(str(said["master"])), *numbers)
    except (ValueError, KeyError, TypeError):
        why = why_it_ended(process.returncode, limits)
        raise RunFileError(f"{run}: {why}; it is damaged: copy it again") from None
    text = str(said["error"])
    raise RunFileError(text if source in text or target in text else f"{run}: {text}")


def _size_of(source: str) -> int:
    """Bytes on the disk of all files of the run, which must be regular ones."""
    prefix = Path(source)
    size = 0
    found = sorted({Path(f"{source}{MASTER}"), *prefix.parent.glob(f"{_escaped(prefix.name)}_*")})
    for path in found:
        try:
            with open_regular(path) as file:
                size += os.fstat(file.fileno()).st_blocks * 512
        except FileNotFoundError:
            raise RunFileError(f"{path}: no such file; give the _raw_master.h5 of a run of the sink raw") from None
        except (OSError, ValueError) as error:
            raise RunFileError(f"{path}: {reason(error) if isinstance(error, OSError) else error}") from None
    return size


def _escaped(name: str) -> str:
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


def _main() -> None:
    said: dict[str, Any]
    try:
        done = _native.convert(*json.loads(sys.argv[1]))
        said = asdict(Converted(Path(done.master), done.books.written, done.lost, done.unknown))
    except (_native.NativeError, OSError, RuntimeError, ValueError, MemoryError) as error:
        said = {"error": str(error)[:2000] or type(error).__name__}
    sys.stdout.write(json.dumps(said, default=str) + "\n")


if __name__ == "__main__":
    _main()
