# SPDX-License-Identifier: Apache-2.0
"""Kernels on a GPU against pyFAI's own OpenCL on the same GPU, in one run, on the same images of 2048 × 2048 uint16: azimuthal integration, sparsification and
peaks above a sigma-clipped background.

python bench/pyfai_gpu.py RASHPA_GPU_BENCH FILE.json

Both sides have their images in device memory. Ours is the time between two events around all launches, gaps included, an image of a stack; theirs the sum of the
times that OpenCL's profiling says of the kernels alone, of one image: pyFAI takes one at a time. What a call of theirs takes on the wall, with the image's way
to the device and results back, stands in rows of its own.

Sigma clipping by itself is the background by radius; ours marks the pixels that may stick out, too.

Before anything is timed, the numbers of peaks and of listed pixels that pyFAI finds in the first image must be within 3 % of ours, which are means over all images, and so must be the
sigma-clipped background, averaged over the radii. The places of peaks and pixels are not compared; of peaks bench/peaks/compare.py does that, for unit cpu. Of azimuthal only this is looked at: that pyFAI's bins hold all photons. Our profile is not compared here; the bins
are not the same, since rashpa_gpu_bench takes radii from the corners of pixels. python/tests/data/test_azimuthal.py compares profiles.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyFAI.containers import ErrorModel
from pyFAI.detectors import Detector
from pyFAI.integrator.azimuthal import AzimuthalIntegrator
from pyFAI.opencl.azim_csr import OCL_CSR_Integrator
from pyFAI.opencl.peak_finder import OCL_PeakFinder

SIDE, IMAGES, SPOTS, ROUNDS = 2048, 10, 150, 15
BINS, BACKGROUND_BINS = 1000, 800  # as rashpa_gpu_bench has them
PIXEL_MM, PIXEL_M = 0.075, 75e-6


def made_images() -> NDArray[np.uint16]:
    """Return images with a background that decreases with the radius from 5 photons to 1, and spots of 3 × 3 pixels, like bench/gpu/peaks.cpp."""
    random = np.random.default_rng(1)
    y, x = np.mgrid[:SIDE, :SIDE]
    background = 1 + 4 * np.exp(-np.floor(np.hypot(x - 1024, y - 1024)) / 400)
    images = random.poisson(background, (IMAGES, SIDE, SIDE)).astype(np.uint16)
    for image in images:
        for row, column in random.integers(10, 2010, (SPOTS, 2)):
            image[row : row + 3, column : column + 3] = random.integers(60, 150, (3, 3))
    return images


def geometry() -> AzimuthalIntegrator:
    """Return a flat detector with the beam at its centre."""
    detector = Detector(PIXEL_M, PIXEL_M, max_shape=(SIDE, SIDE))
    detector.shape = (SIDE, SIDE)
    return AzimuthalIntegrator(0.1, 1024 * PIXEL_M, 1024 * PIXEL_M, detector=detector, wavelength=1e-10)


def with_the_right_number_of_work_items(finder: OCL_PeakFinder) -> None:
    """Correct pyFAI 2026.9, which launches peakfinder with `// wg1 * wg` in place of `// wg1 * wg1`: far too many work items, most of which return at
    once."""
    kernel = finder.kernels.peakfinder

    def launched(queue: Any, size: tuple[int, int], group: tuple[int, int], *arguments: Any) -> Any:
        whole = tuple(-(-side // of_group) * of_group for side, of_group in zip((SIDE, SIDE), group, strict=True))
        return kernel(queue, tuple(min(pair) for pair in zip(size, whole, strict=True)), group, *arguments)

    finder.kernels.peakfinder = launched


def microseconds(processing: Any, call: Callable[[], Any]) -> tuple[float, float, dict[str, float]]:
    """Return medians for one call, in µs: the time of each kernel, of all kernels, and the elapsed time. Copies are not counted as kernels."""
    call()
    kernels, wall, parts = [], [], {}
    for _ in range(ROUNDS):
        processing.reset_log()
        began = time.perf_counter()
        call()
        wall.append((time.perf_counter() - began) * 1e6)
        parts = {}
        for event in processing.events:
            name = event[0]
            start, stop = (event[1].profile.start, event[1].profile.end) if len(event) == 2 else event[1:3]
            if "copy" not in name.lower() and "->" not in name:
                parts[name] = parts.get(name, 0.0) + (stop - start) * 1e-3
        kernels.append(sum(parts.values()))
    return statistics.median(kernels), statistics.median(wall), parts


def theirs(images: NDArray[np.uint16], counted: dict[str, float]) -> dict[str, tuple[float, float, dict[str, float]]]:
    """Return pyFAI's times by kernel. `counted`: by kernel, the mean number that our kernel finds in an image. Raise SystemExit when pyFAI finds
    another number."""
    ai = geometry()
    found: dict[str, tuple[float, float, dict[str, float]]] = {}
    flat = {"split": "no", "algo": "CSR", "empty": 0.0, "scale": False}
    engine = ai.setup_sparse_integrator((SIDE, SIDE), BINS, unit="r_mm", **flat)
    integrator = OCL_CSR_Integrator(
        engine.lut, SIDE * SIDE, bin_centers=engine.bin_centers, devicetype="all", profile=True, empty=0.0
    )
    profile = integrator.integrate_ng(images[0], error_model=ErrorModel.POISSON)
    if not np.isclose(profile.signal.sum(), float(images[0].sum()), rtol=1e-5):
        raise SystemExit("azimuthal: pyFAI's bins do not hold all photons")
    found["azimuthal"] = microseconds(
        integrator, lambda: integrator.integrate_ng(images[0], error_model=ErrorModel.POISSON)
    )
    engine = ai.setup_sparse_integrator((SIDE, SIDE), BACKGROUND_BINS, unit="r_mm", **flat)
    finder = OCL_PeakFinder(
        engine.lut,
        image_size=SIDE * SIDE,
        bin_centers=engine.bin_centers,
        radius=ai.array_from_unit((SIDE, SIDE), "center", "r_mm", scale=False),
        devicetype="all",
        profile=True,
        unit=engine.unit,
    )
    with_the_right_number_of_work_items(finder)
    clip = {"error_model": "poisson", "cutoff_clip": 0.0, "cycle": 5, "noise": 1.0}
    peaks = finder.peakfinder(images[0], cutoff_peak=6.0, patch_size=5, connected=3, **clip)
    pixels = finder.sparsify(images[0], cutoff_pick=3.0, **clip)
    clipper = OCL_CSR_Integrator(
        engine.lut, SIDE * SIDE, bin_centers=engine.bin_centers, devicetype="all", profile=True, empty=0.0
    )
    background = float(
        clipper.sigma_clip(images[0], error_model=ErrorModel.POISSON, cutoff=0.0, cycle=5).intensity.mean()
    )
    print(
        f"pyFAI finds {len(peaks)} peaks, {pixels.intensity.size} pixels above the background, {background:.3f} below them",
        file=sys.stderr,
    )
    for name, count in (("peakfinder", len(peaks)), ("sparsify", pixels.intensity.size), ("sigma_clip", background)):
        if not 0.97 < count / counted.get(name, count) < 1.03:
            raise SystemExit(f"{name}: pyFAI finds {count}, ours {counted[name]}")
    found["peakfinder"] = microseconds(
        finder, lambda: finder.peakfinder(images[0], cutoff_peak=6.0, patch_size=5, connected=3, **clip)
    )
    found["sparsify"] = microseconds(finder, lambda: finder.sparsify(images[0], cutoff_pick=3.0, **clip))
    found["sigma_clip"] = microseconds(
        clipper, lambda: clipper.sigma_clip(images[0], error_model=ErrorModel.POISSON, cutoff=0.0, cycle=5)
    )
    print(f"on {finder.ctx.devices[0].name}, OpenCL of {finder.ctx.devices[0].platform.name}", file=sys.stderr)
    return found


def ours(program: str, file: Path) -> list[dict[str, Any]]:
    """Return our rows of azimuthal and peaks."""
    command = [program, "--only", "azimuthal,peaks", "--images", str(file), "--json"]
    return [
        json.loads(line)
        for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    ]


def main() -> None:
    program, out = sys.argv[1:3]
    images = made_images()
    with tempfile.NamedTemporaryFile(suffix=".raw") as file:
        images.tofile(file.name)
        mine = ours(program, Path(file.name)) if program != "-" else []
    counted = {row["what"].split(",")[0]: float(row["what"].split()[1]) for row in mine if " in a " in row["what"]}
    peers = theirs(images, counted)
    rows: list[dict[str, Any]] = []
    for row in mine:
        name = row["what"].split(",")[0]
        if name not in peers:
            continue
        kernels, wall, _ = peers[name]
        for against, value in (("kernels of pyFAI's OpenCL", kernels), ("a call of pyFAI's OpenCL", wall)):
            rows.append(
                {
                    "what": row["what"],
                    "value": row["value"],
                    "unit": "us/image",
                    "against": against,
                    "against_value": round(value, 1),
                    "ratio": round(value / row["value"], 2),
                }
            )
    for name, (kernels, wall, parts) in peers.items():
        text = ", ".join(f"{part} {time_us:.0f}" for part, time_us in parts.items())
        print(f"pyFAI {name}: kernels {kernels:.0f} us ({text}), a call {wall:.0f} us", file=sys.stderr)
    Path(out).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(
            f"{row['what']}: {row['value']:.1f} us, {row['against']} {row['against_value']:.0f} us: {row['ratio']:.1f} x"
        )


if __name__ == "__main__":
    main()
