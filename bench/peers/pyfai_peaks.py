# SPDX-License-Identifier: Apache-2.0
"""Finds peaks and makes sparse images with pyFAI on an OpenCL device. It runs with the Python of `tools/peer_environment.sh pyfai`.

Usage: pyfai_peaks.py SETTINGS.json. The settings are `images` (.npy), `mask` (.npy, int8, 1: masked), `out` (.npz), `repeats`, `beam_x`, `beam_y` and
the parameters of the kernels peakfinder and sparsify. Radii are those of pixels of 1 m at a distance of 1 m, so that `r_m` counts pixels.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from pyFAI.detectors import Detector
from pyFAI.integrator.azimuthal import AzimuthalIntegrator
from pyFAI.opencl.peak_finder import OCL_PeakFinder
from pyFAI.units import to_unit


def main() -> None:
    """Read the settings, find peaks, measure the time, write the results."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    images = np.load(settings["images"])
    mask = np.load(settings["mask"])
    shape = images.shape[1:]
    detector = Detector(1.0, 1.0, max_shape=shape)
    integrator = AzimuthalIntegrator(1.0, settings["beam_y"], settings["beam_x"], detector=detector, wavelength=1e-10)
    unit = to_unit("r_m")
    radius = integrator.array_from_unit(shape, "center", unit, scale=False)
    low, high = float(radius.min()), float(np.nextafter(radius.max(), np.float32(np.inf)))
    engine = integrator.setup_sparse_integrator(
        shape, settings["bins"], mask=mask, pos0_range=(low, high), unit=unit, split="no", algo="CSR", scale=False
    )
    finder = OCL_PeakFinder(
        engine.lut, image_size=mask.size, empty=0, unit=unit, bin_centers=engine.bin_centers, radius=radius, mask=mask
    )
    clip = {"error_model": settings["error_model"], "cutoff_clip": settings["clip"], "cycle": settings["cycles"]}
    clip |= {"noise": settings["noise"]}
    out = {"middles": engine.bin_centers}
    for number, image in enumerate(images):
        peaks = finder.peakfinder(
            image, cutoff_peak=settings["cutoff"], patch_size=settings["patch"], connected=settings["connected"], **clip
        )
        out[f"x_{number}"], out[f"y_{number}"] = peaks["pos1"], peaks["pos0"]
        out[f"intensity_{number}"], out[f"sigma_{number}"] = peaks["intensity"], peaks["sigma"]
        sparse = finder.sparsify(image, cutoff_pick=settings["cutoff"], **clip)
        order = np.argsort(sparse.index)
        out[f"index_{number}"], out[f"value_{number}"] = sparse.index[order], sparse.intensity[order]
        out[f"background_{number}"], out[f"deviation_{number}"] = sparse.background_avg, sparse.background_std
    seconds = []
    for _ in range(settings["repeats"]):
        start = time.perf_counter()
        for image in images:
            finder.sparsify(image, cutoff_pick=settings["cutoff"], **clip)
        seconds.append((time.perf_counter() - start) / len(images))
    device = finder.ctx.devices[0]
    np.savez(settings["out"], seconds=np.asarray(seconds), device=f"{device.name}, {device.platform.version}", **out)


if __name__ == "__main__":
    main()
