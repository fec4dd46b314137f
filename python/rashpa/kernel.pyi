# SPDX-License-Identifier: Apache-2.0
"""Every kernel as a function on arrays of images; written by tools/make_kernels.py."""

from typing import Any, Literal

from numpy.typing import NDArray

from rashpa.data.pipeline import CalibrationMaps, Found

def jungfrau(
    images: NDArray[Any],
    calibration: CalibrationMaps,
    *,
    output: Literal["photons", "kev"] = "photons",
    photon_energy_kev: float,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
) -> Found:
    """Raw words to photons (int16) or keV (float32).

    Takes pixels of uint16.
    Makes pixels of int16 or float32.
    Finds masked_pixels (pixels), saturated_pixels (pixels).
    photon_energy_kev: that of the detector when not given.
    """

def bragg_count(
    images: NDArray[Any],
    *,
    threshold: int,
    min_pixels: int,
    max_pixels: int = 4294967295,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
) -> Found:
    """Keeps an image when min_pixels <= pixels at or above threshold <= max_pixels.

    Takes pixels of uint8, uint16, uint32, int16, int32.
    Finds bright_pixels (pixels).
    Vetoes: too_few, too_many.
    threshold: photons.
    """

def csr(
    images: NDArray[Any],
    *,
    threshold: int = 1,
    capacity: float = 0.1,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
) -> Found:
    """Pixels at or above the threshold as index and value.

    Takes pixels of uint8, uint16, uint32, int16, int32.
    Makes lists of pixels.
    threshold: photons.
    capacity: fraction of the pixels there is room for.
    """

def total_counts(
    images: NDArray[Any],
    *,
    min_counts: int = 0,
    max_counts: int = 1000000000000000,
    max_masked: float = 1,
    unit: str = "cpu",
    threads: int = 0,
    stack: int = 16,
) -> Found:
    """Keeps an image when min_counts <= sum of its photons <= max_counts and not too much of it is masked.

    Takes pixels of uint8, uint16, uint32, int16, int32.
    Finds total_counts (photons), masked_in_total (pixels).
    Vetoes: too_few_counts, too_many_counts, too_many_masked.
    min_counts: sum of all photons.
    max_counts: sum of all photons.
    max_masked: fraction of the pixels that may be masked.
    """
