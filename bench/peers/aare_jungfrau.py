# SPDX-License-Identifier: Apache-2.0
"""Runs aare on raw frames for bench/jungfrau.py, in aare's own environment.

Usage: aare_jungfrau.py FOLDER THREADS REPEATS. FOLDER has raw.npy uint16 [frame][row][column], pedestal.npy and factor.npy float32 [3][row][column],
mask.npy uint32 [row][column]. Writes aare.npy (aare's result) and assembled.npy, and prints seconds as JSON.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import aare
import numpy as np

MASKED = np.int16(-32768)
CHIP = 256
MODULE = (512, 1024)
PITCH = 550


def spread(at):
    return at + at // CHIP * 2


def shares(values):
    """Return the smaller and the larger half of each count; masked values stay masked."""
    less = np.where(values == MASKED, values, values >> 1)
    return less, np.where(values == MASKED, values, values - less)


def assemble(energies, mask):
    """Return the assembled image of modules one below the other; double-size pixels share their counts."""
    frames, rows, _ = energies.shape
    modules = rows // MODULE[0]
    photons = np.rint(energies).astype(np.int16)
    photons[:, mask != 0] = MASKED
    columns = MODULE[1] + 6
    out = np.full((frames, PITCH * (modules - 1) + 514, columns), MASKED, np.int16)
    wide = np.empty((frames, MODULE[0], columns), np.int16)
    for module in range(modules):
        part = photons[:, module * MODULE[0] : (module + 1) * MODULE[0]]
        for chip in range(0, MODULE[1], CHIP):
            wide[:, :, spread(chip) : spread(chip) + CHIP] = part[:, :, chip : chip + CHIP]
        for column in range(CHIP, MODULE[1], CHIP):
            for at, gap in ((spread(column - 1), spread(column - 1) + 1), (spread(column), spread(column) - 1)):
                less, more = shares(wide[:, :, at])
                odd = np.arange(MODULE[0]) % 2 != 0
                wide[:, :, at] = np.where(odd, less, more)
                wide[:, :, gap] = np.where(odd, more, less)
        top = module * PITCH
        out[:, top : top + 255] = wide[:, :255]
        out[:, top + 259 : top + 514] = wide[:, 257:]
        for row, at, gap in ((255, 255, 256), (256, 258, 257)):
            less, more = shares(wide[:, row])
            odd = np.arange(columns) % 2 != 0
            out[:, top + at] = np.where(odd, less, more)
            out[:, top + gap] = np.where(odd, more, less)
    return out


def timed(repeats, work):
    work()
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def main():
    folder, threads, repeats = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    raw, pedestal, factor, mask = (np.load(folder / f"{name}.npy") for name in ("raw", "pedestal", "factor", "mask"))

    def convert():
        return aare.apply_calibration(raw, pd=pedestal, cal=factor, n_threads=threads)

    found = convert()
    np.save(folder / "aare.npy", found)
    np.save(folder / "assembled.npy", assemble(found, mask))
    print(
        json.dumps(
            {
                "convert": timed(repeats, convert),
                "assembled": timed(repeats, lambda: assemble(convert(), mask)),
                "bytes": raw.nbytes,
            }
        )
    )


main()
