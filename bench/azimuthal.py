# SPDX-License-Identifier: Apache-2.0
"""Compares the kernel `azimuthal` with pyFAI's csc and csr engines in one process: first the results (equal integers, or 1e-5 for split pixels), then
images/s, alternately.

.venv/bin/python bench/azimuthal.py bench/results/azimuthal.json
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyFAI
from pyFAI.detectors import Detector
from pyFAI.integrator.azimuthal import AzimuthalIntegrator

from rashpa.control.nodes.machine import measured, write_measured
from rashpa.data.kernels.pipeline import Pipeline

BINS, IMAGES, ROUNDS = 1000, 16, 3


def rate(work: Callable[[], Any], images: int) -> float:
    """Return the rate in images/s."""
    start = time.perf_counter()
    work()
    return images / (time.perf_counter() - start)


def compare(name: str, shape: tuple[int, int], options: dict[str, Any], peer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one case. Raise SystemExit when the integers differ."""
    random = np.random.default_rng(1)
    images = random.poisson(2.0, (IMAGES, *shape)).astype(np.uint16)
    detector = Detector(75e-6, 75e-6, max_shape=shape)
    detector.shape = shape
    half = [0.5 * 75e-6 * side for side in shape]
    integrator = AzimuthalIntegrator(0.1, *half, detector=detector, wavelength=1e-10)
    with tempfile.NamedTemporaryFile(suffix=".poni") as poni:
        integrator.save(poni.name)
        kernel = {"name": "azimuthal", "poni": poni.name, "bins": BINS, **options}
        ours = {threads: Pipeline([kernel], shape, threads=threads) for threads in (1, 2)}

        def theirs(algorithm: str, image: Any) -> Any:
            method = (options.get("splitting", "no"), algorithm, "cython")
            return integrator.integrate1d_ng(image, BINS, unit="q_A^-1", method=method, safe=False, **peer)

        expected = theirs("csr", images[0])
        found = ours[2](images).profiles["azimuthal"][0]
        split = options.get("splitting", "no") != "no"
        if not split and not np.array_equal(found["sum_signal"][0], expected.sum_signal):
            raise SystemExit(f"{name}: the sums differ")
        np.testing.assert_allclose(found["I"][0], expected.intensity, rtol=1e-5)
        if options["errors"] != "none":
            np.testing.assert_allclose(found["I_errors"][0], expected.sigma, rtol=1e-5, atol=1e-12)
        works = {
            "rashpa 1 thread": (lambda: ours[1](images), IMAGES),
            "rashpa 2 threads": (lambda: ours[2](images), IMAGES),
            "pyFAI csc": (lambda: [theirs("csc", image) for image in images[:2]], 2),
            "pyFAI csr": (lambda: [theirs("csr", image) for image in images[:2]], 2),
        }
        rates: dict[str, list[float]] = {key: [] for key in works}
        for work, _ in works.values():
            work()  # tables are made
        for _ in range(ROUNDS):
            for key, (work, count) in works.items():
                rates[key].append(rate(work, count))
    best = max(statistics.median(rates[key]) for key in rates if key.startswith("pyFAI"))
    return [
        {
            "case": name,
            "what": key,
            "images_per_s": round(statistics.median(values), 1),
            "against_best_pyfai": round(statistics.median(values) / best, 2),
        }
        for key, values in rates.items()
    ]


def main(out: Path) -> None:
    """Write the results."""
    plain: dict[str, Any] = {"correctSolidAngle": False}
    corrected: dict[str, Any] = {"polarization_factor": 0.99, "error_model": "poisson"}
    rows: list[dict[str, Any]] = []
    for label, shape in (("0.5M", (512, 1024)), ("4M", (2048, 2048))):
        rows += compare(f"{label}, integers alone", shape, {"solid_angle": False, "errors": "none"}, plain)
        rows += compare(
            f"{label}, corrections and poisson errors", shape, {"polarization": True, "errors": "poisson"}, corrected
        )
    split = {"polarization": True, "errors": "poisson", "splitting": "full"}
    rows += compare("0.5M, split over bins, corrections and poisson errors", (512, 1024), split, corrected)
    for row in rows:
        print(row)
    facts = {"bins": BINS, "pixel": "uint16", "peer": f"pyFAI {pyFAI.version}"}
    write_measured(out, measured("azimuthal", rows, **facts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
