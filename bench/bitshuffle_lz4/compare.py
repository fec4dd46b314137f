# SPDX-License-Identifier: Apache-2.0
"""Compares bitshuffle-LZ4 with the bitshuffle library (built for this processor) and dectris-compression on one image of 4 megapixels, uint16. First
each side reads the other's chunks, then both are timed alternately.

.venv/bin/python bench/bitshuffle_lz4/compare.py --peer "$(tools/peer_environment.sh bitshuffle)" [--output bench/results/bitshuffle_lz4.json]
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SIDE = 2048
ROUNDS = 5
BLOCK = 8192


def images() -> dict[str, Any]:
    """Return photons of a weak and of a strong image, and raw words of a dark JUNGFRAU frame."""
    random = np.random.default_rng(1)
    spots = random.integers(0, SIDE * SIDE, 400)
    made = {}
    for name, mean in (("photons, mean 0.05", 0.05), ("photons, mean 1", 1.0)):
        image = random.poisson(mean, SIDE * SIDE).astype(np.uint16)
        image[spots] += 100
        image[::500] = 65535
        made[name] = image
    pedestal = random.normal(3000, 200, SIDE * SIDE)
    made["raw words"] = (pedestal + random.normal(0, 10, SIDE * SIDE)).astype(np.uint16)
    return made


def best(work: Any, repeats: int = 7) -> float:
    """Return the seconds of the fastest call."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def peer(folder: Path) -> dict[str, float]:
    """Return the peers' seconds by operation; it runs in the peers' environment."""
    import bitshuffle  # type: ignore[import-not-found]
    from dectris.compression import decompress  # type: ignore[import-not-found]

    found = {}
    for file in sorted(folder.glob("image_*.npy")):
        image = np.load(file)
        chunk = file.with_suffix(".chunk").read_bytes()
        body = np.frombuffer(chunk, np.uint8)[12:].copy()
        assert np.array_equal(bitshuffle.decompress_lz4(body, image.shape, image.dtype, BLOCK // 2), image)
        assert decompress(chunk, "bslz4", elem_size=2) == image.tobytes()
        theirs = bitshuffle.compress_lz4(image, BLOCK // 2)
        file.with_suffix(".theirs").write_bytes(struct.pack(">QI", image.nbytes, BLOCK) + theirs.tobytes())
        found[f"{file.stem} compress"] = best(lambda image=image: bitshuffle.compress_lz4(image, BLOCK // 2))
        found[f"{file.stem} bitshuffle"] = best(
            lambda body=body, image=image: bitshuffle.decompress_lz4(body, image.shape, image.dtype, BLOCK // 2)
        )
        found[f"{file.stem} dectris"] = best(lambda chunk=chunk: decompress(chunk, "bslz4", elem_size=2))
    return found


def ours(folder: Path, threads: int) -> dict[str, float]:
    """Return the seconds of our codec by operation; write the chunks that the peers read."""
    from rashpa import _native

    codec = _native.BitshuffleLz4(2, threads)
    found = {}
    for file in sorted(folder.glob("image_*.npy")):
        pixels = np.load(file).view(np.uint8)
        room = np.empty(codec.bound(pixels.size, 2), np.uint8)
        chunk = room[: codec.compress(pixels, room)].copy()
        back = np.empty_like(pixels)
        assert codec.decompress(chunk, back) and np.array_equal(back, pixels)
        theirs = file.with_suffix(".theirs")
        if theirs.is_file():
            back[:] = 0
            assert codec.decompress(np.frombuffer(theirs.read_bytes(), np.uint8), back)
            assert np.array_equal(back, pixels)
        file.with_suffix(".chunk").write_bytes(chunk.tobytes())
        found[f"{file.stem} compress"] = best(lambda pixels=pixels, room=room: codec.compress(pixels, room))
        found[f"{file.stem} decompress"] = best(lambda chunk=chunk, back=back: codec.decompress(chunk, back))
    return found


def compare(python: str, output: Path | None) -> None:
    """Print GB/s and ratios."""
    made = images()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, image in enumerate(made.values()):
            np.save(folder / f"image_{number}.npy", image)
        for threads in (1, 2):
            mine: dict[str, float] = {}
            yours: dict[str, float] = {}
            environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
            for _ in range(ROUNDS):
                for key, seconds in ours(folder, threads).items():
                    mine[key] = min(seconds, mine.get(key, seconds))
                text = subprocess.run(
                    [python, __file__, "--folder", name], env=environment, capture_output=True, text=True, check=True
                ).stdout
                for key, seconds in json.loads(text).items():
                    yours[key] = min(seconds, yours.get(key, seconds))
            for number, what in enumerate(made):
                gigabytes = SIDE * SIDE * 2 / 1e9
                stem = f"image_{number}"
                pairs = (("compress", "compress", "bitshuffle"), ("decompress", "dectris", "dectris-compression"))
                for own, other, against in (*pairs, ("decompress", "bitshuffle", "bitshuffle")):
                    value, theirs = (gigabytes / side for side in (mine[f"{stem} {own}"], yours[f"{stem} {other}"]))
                    rows.append(
                        {
                            "what": f"{own}, {what}, {threads} thread(s)",
                            "value": round(value, 3),
                            "unit": "GB/s",
                            "against": against,
                            "against_value": round(theirs, 3),
                            "ratio": round(value / theirs, 3),
                        }
                    )
    for row in rows:
        print(f"{row['what']:52} {row['value']:7.2f} GB/s, {row['ratio']:5.2f} × {row['against']}")
    if output is not None:
        from rashpa.control.nodes.machine import measured, write_measured

        write_measured(output, measured("bitshuffle_lz4", rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", default=sys.executable, help="the peers' Python")
    parser.add_argument("--output", type=Path, help="JSON file for the results")
    parser.add_argument("--folder", type=Path, help="in the peers' environment: where the images lie")
    given = parser.parse_args()
    if given.folder is not None:
        print(json.dumps(peer(given.folder)))
    else:
        compare(given.peer, given.output)
