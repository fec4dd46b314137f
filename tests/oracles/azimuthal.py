# SPDX-License-Identifier: Apache-2.0
"""Oracle of the sums of the kernel `azimuthal`, of bins, weights and darks as they are given; that of bins is geometry (test_azimuthal_bins.py)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_BIN = 0xFFFFFFFF


@dataclass(frozen=True)
class Profile:
    """Of each bin."""

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
    """Sums over the pixels that hold a value: NaN and infinite ones do not."""
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
    """Σ (weight of each)² · (its distance from the mean before it) · (its distance from the mean behind it)."""
    found, signal, norm = 0.0, 0.0, 0.0
    for place, (value, weight) in enumerate(members):
        before = signal / norm - value if place else 0.0
        signal, norm = signal + weight * value, norm + weight
        found += weight**2 * before * (signal / norm - value)
    return found


def ring(found: Profile, axis: list[float], ring_min: float, ring_max: float) -> float:
    """The mean of the bins of which the centres lie from the one to the other; equal bounds: of all."""
    inside = [place for place, at in enumerate(axis) if ring_min <= at <= ring_max or ring_min == ring_max]
    norm = sum(found.norm[place] for place in inside)
    return sum(found.signal[place] for place in inside) / norm if norm else math.nan


def judged(mean: float, min_intensity: float, max_intensity: float) -> str:
    """The reason of the veto; empty: it is kept."""
    if min_intensity and not mean >= min_intensity:
        return "ring_too_weak"
    return "ring_too_strong" if max_intensity and mean > max_intensity else ""
