# SPDX-License-Identifier: Apache-2.0
"""Finds peaks with OnDA Monitor's peakfinder8 in exact mode. It runs with the Python of `tools/peer_environment.sh ondamonitor`.

Usage: ondamonitor_peaks.py SETTINGS.json. The settings are `images` (.npy), `radius` (.npy, float32), `mask` (.npy, int8, 1: good), `out` (.npz),
`repeats`, and the parameters of the kernel peakfinder8.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from om.algorithms._crystallography import peakfinder_8

NAMES = ("x", "y", "intensity", "index", "pixels", "largest", "sigma", "snr")


def main() -> None:
    """Read the settings, find peaks, measure the time, write the results."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    images = np.load(settings["images"]).astype(np.float32)
    radius = np.load(settings["radius"])
    mask = np.load(settings["mask"])
    height, width = radius.shape
    unused = np.zeros(1, np.int32)

    def peaks(image: np.ndarray) -> list:
        return peakfinder_8(
            settings["max_peaks"], image, mask, radius, 0, unused, unused, 0, width, height, 1, 1,
            settings["threshold"], settings["min_snr"], settings["min_pixels"], settings["max_pixels"], settings["local_bg_radius"],
        )  # fmt: skip

    found = [peaks(image) for image in images]
    seconds = []
    for _ in range(settings["repeats"]):
        start = time.perf_counter()
        for image in images:
            peaks(image)
        seconds.append((time.perf_counter() - start) / len(images))
    out = {f"{name}_{i}": np.asarray(one[n]) for i, one in enumerate(found) for n, name in enumerate(NAMES)}
    np.savez(settings["out"], seconds=np.asarray(seconds), **out)


if __name__ == "__main__":
    main()
