# SPDX-License-Identifier: Apache-2.0
"""Oracle of the sums of the kernel `azimuthal`, for given bins, weights and darks. The oracle of bins is geometry (test_azimuthal_bins.py)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_BIN = 0xFFFFFFFF


@dataclass(frozen=True)
class Profile:
    """Holds the results, one value for each bin."""

    signal: list[float]
    norm: list[float]
    mean: list[float]
    error: list[float]


Share = tuple[int, int, float]  # pixel, bin, how much of the pixel lies there


def profile(
    image: NDArray[np.float64],
    shares: list[Share],
    weight: list[float],
    dark: list[float],
    bins: int,
    errors: str,
) -> Profile:
    """Return the sums over the pixels that hold a value, which NaN and infinite ones do not."""
    values = image.ravel().tolist()
    signal, norm, variance = [[0.0] * bins for _ in range(3)]
    members: list[list[tuple[float, float]]] = [[] for _ in range(bins)]
    for pixel, place, share in shares:
        if not math.isfinite(values[pixel]):
            continue
        signal[place] += share * (values[pixel] - dark[pixel])
        norm[place] += share * weight[pixel]
        variance[place] += share**2 * (max(values[pixel], 1) + dark[pixel])
        members[place].append(((values[pixel] - dark[pixel]) / weight[pixel], share * weight[pixel]))
    mean = [one / under if under else math.nan for one, under in zip(signal, norm, strict=True)]
    if errors == "azimuthal":
        variance = [_scatter(one) for one in members]
    error = [
        math.sqrt(one) / under if under and errors != "none" else math.nan
        for one, under in zip(variance, norm, strict=True)
    ]
    return Profile(signal, norm, mean, error)


def _scatter(members: list[tuple[float, float]]) -> float:
    """Return Σ (weight)² · (distance from the mean before the value) · (distance from the mean after it)."""
    found, signal, norm = 0.0, 0.0, 0.0
    for place, (value, weight) in enumerate(members):
        before = signal / norm - value if place else 0.0
        signal, norm = signal + weight * value, norm + weight
        found += weight**2 * before * (signal / norm - value)
    return found


def ring(found: Profile, axis: list[float], ring_min: float, ring_max: float) -> float:
    """Return the mean of the bins with centres from `ring_min` to `ring_max`; with equal bounds, of all bins."""
    inside = [place for place, at in enumerate(axis) if ring_min <= at <= ring_max or ring_min == ring_max]
    norm = sum(found.norm[place] for place in inside)
    return sum(found.signal[place] for place in inside) / norm if norm else math.nan


def judged(mean: float, min_intensity: float, max_intensity: float) -> str:
    """Return the reason of the veto, empty when the image is accepted."""
    if min_intensity and not mean >= min_intensity:
        return "ring_too_weak"
    return "ring_too_strong" if max_intensity and mean > max_intensity else ""
