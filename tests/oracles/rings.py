# SPDX-License-Identifier: Apache-2.0
"""Oracles of kernels that process an image by the distance from the beam: plain loops in 64 bits, by the published descriptions.

`peakfinder8`: Barty et al., J. Appl. Cryst. 47, 2014, 1118, as CrystFEL implements it. `peakfinder`, `sparsify`: Kieffer et al., J. Appl. Cryst. 58,
2025, 138.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]  # [row][column]; NaN: masked
Panel = tuple[int, int, int, int]  # left, right, top, bottom
Panels = list[Panel]
Pixel = tuple[int, int]  # row, column


def distances(shape: tuple[int, int], beam_x: float, beam_y: float) -> Values:
    """Return the distances of pixel centres from the beam."""
    rows, columns = shape
    return np.array([[math.hypot(x + 0.5 - beam_x, y + 0.5 - beam_y) for x in range(columns)] for y in range(rows)])


def looked_at(radius: Values, min_radius: float, max_radius: float) -> NDArray[np.bool_]:
    """Return True for pixels in the range. Both limits belong to it; `max_radius` 0 means no upper limit; NaN is outside."""
    farthest = max_radius if max_radius > 0 else math.inf
    return np.array([[min_radius <= one <= farthest for one in row] for row in radius.tolist()])


@dataclass(frozen=True)
class Peak8:
    """The settings of peakfinder8."""

    threshold: float
    min_snr: float
    min_pixels: int
    max_pixels: int
    local_bg_radius: int


@dataclass(frozen=True)
class _Ring:
    """Holds mean and limit of a ring; pixels above the limit are bright."""

    mean: float = 0
    limit: float = math.inf


def _rings_of(values: Values, ring: NDArray[np.int64], settings: Peak8) -> dict[int, _Ring]:
    """Return mean and limit of each ring. Pixels with ring −1 belong to none, and are never bright."""
    found = {}
    for one in set(ring.ravel().tolist()) - {-1}:
        members = [value for value in values[ring == one].tolist() if not math.isnan(value)]
        low, high, mean = -1e9, 1e9, 0.0
        for _ in range(5):
            kept = [value for value in members if low < value < high]
            if not kept:  # what is positive is taken the next time; behind the last time nothing is bright
                low, high, mean = float(np.finfo(np.float32).tiny), math.inf, 0.0
                continue
            mean = sum(kept) / len(kept)
            scatter = math.sqrt(max(sum(value * value for value in kept) / len(kept) - mean * mean, 0.0))
            low, high = mean - settings.min_snr * scatter, max(mean + settings.min_snr * scatter, settings.threshold)
        found[one] = _Ring(mean, high)
    return found | {-1: _Ring()}


class Peaks8:
    """Holds the results of peakfinder8 for an image."""

    def __init__(self, values: Values, radius: Values, looked: NDArray[np.bool_], settings: Peak8) -> None:
        self.values, self.looked, self.settings = values, looked, settings
        ring = np.where(looked, np.rint(np.where(looked, radius, 0)), -1).astype(np.int64)  # ties to even
        rings = _rings_of(values, ring, settings)
        self.mean = np.vectorize(lambda one: rings[one].mean, otypes=[float])(ring)
        self.limit = np.vectorize(lambda one: rings[one].limit, otypes=[float])(ring)
        self.bright = values > self.limit
        self.empty = sum(math.isinf(one.limit) for number, one in rings.items() if number >= 0)

    def peaks(self, panels: Panels) -> list[dict[str, float]]:
        """Return the peaks by panel, in each panel by their first pixel that is not at the panel's edge."""
        taken: set[Pixel] = set()
        found = []
        for panel in panels:
            left, right, top, bottom = panel
            for row in range(top + 1, bottom - 1):
                for column in range(left + 1, right - 1):
                    members = self._grown((row, column), panel, taken)
                    peak = self._measured(members, panel) if members else None
                    if peak:
                        found.append(peak)
        return found

    def _grown(self, seed: Pixel, panel: Panel, taken: set[Pixel]) -> list[Pixel]:
        """Return the connected bright pixels of the panel that contain `seed`."""
        left, right, top, bottom = panel
        members, ahead = [], [seed]
        while ahead:
            y, x = one = ahead.pop()
            if one in taken or not (top <= y < bottom and left <= x < right) or not self.bright[one]:
                continue
            taken.add(one)
            members.append(one)
            ahead += [(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
        return members

    def _around(self, middle: Pixel, panel: Panel) -> list[float]:
        """Return the background pixels of a peak: one row and column less below and to the right."""
        left, right, top, bottom = panel
        reach = 2 * self.settings.local_bg_radius
        found = []
        for y in range(max(top, middle[0] - reach), min(bottom, middle[0] + reach)):
            for x in range(max(left, middle[1] - reach), min(right, middle[1] + reach)):
                near = (y - middle[0]) ** 2 + (x - middle[1]) ** 2 <= reach * reach
                if near and self.looked[y, x] and self.values[y, x] < self.limit[y, x]:
                    found.append(float(self.values[y, x]))
        return found

    def _measured(self, members: list[Pixel], panel: Panel) -> dict[str, float] | None:
        settings, values = self.settings, self.values
        if not settings.min_pixels <= len(members) <= settings.max_pixels:
            return None
        weighed = [one for one in members if math.isfinite(values[one])]
        weights = [abs(values[one] - self.mean[one]) for one in weighed]
        total, weight = sum(float(values[one]) for one in weighed), sum(weights)
        if weight < 1e-10 or abs(total) < 1e-10:
            return None
        middle = (
            round(sum(one * y for one, (y, _) in zip(weights, weighed, strict=True)) / weight),
            round(sum(one * x for one, (_, x) in zip(weights, weighed, strict=True)) / weight),
        )
        around = self._around(middle, panel)
        mean, noise = float(self.mean[middle]), 0.01
        if around:
            mean = sum(around) / len(around)
            noise = math.sqrt(max(sum(one * one for one in around) / len(around) - mean * mean, 0.0))
        peak = {
            "x": sum(float(values[y, x]) * x for y, x in weighed) / abs(total),
            "y": sum(float(values[y, x]) * y for y, x in weighed) / abs(total),
            "intensity": total - len(weighed) * mean,
            "snr": (total - len(weighed) * mean) / noise if noise >= 1e-10 else 0.0,
            "pixels": len(members),
            "largest": max(float(values[one]) for one in members),
            "background": mean,
        }
        left, right, top, bottom = panel
        inside = left <= round(peak["x"]) < right and top <= round(peak["y"]) < bottom
        return peak if inside and peak["snr"] >= settings.min_snr and peak["largest"] >= max([0.0, *around]) else None


@dataclass(frozen=True)
class Clip:
    """The settings of the background by radius."""

    bins: int
    error_model: str = "poisson"
    clip: float = 0
    cycles: int = 5
    noise: float = 1
    cutoff: float = 3


def _moments(kept: list[float], azimuthal: bool) -> tuple[float, float]:
    mean = sum(kept) / len(kept)
    if azimuthal:
        return mean, math.sqrt(sum((one - mean) ** 2 for one in kept) / len(kept))
    return mean, math.sqrt(sum(max(one, 1.0) for one in kept) / len(kept))


def _within(kept: list[float], factor: float, azimuthal: bool) -> list[float]:
    """Return the values that are within `factor` deviations of their mean."""
    mean, deviation = _moments(kept, azimuthal)
    return [one for one in kept if abs(one - mean) <= factor * deviation]


def _bin_background(values: list[float], settings: Clip) -> tuple[float, float]:
    """Return mean and deviation of a bin, NaN when no value is left. When clipping by counts would remove all values, that round clips by the
    scatter."""
    kept = [one for one in values if math.isfinite(one)]
    azimuthal = settings.error_model == "azimuthal" or (settings.error_model == "hybrid" and settings.cycles > 0)
    for _ in range(settings.cycles):
        if not kept:
            break
        factor = max(settings.clip, math.sqrt(2 * math.log(max(3, len(kept)) / math.sqrt(2 * math.pi))))
        before, kept = kept, _within(kept, factor, azimuthal) or _within(kept, factor, True)
        if len(kept) == len(before):
            break
    if not kept:
        return math.nan, math.nan
    return _moments(kept, settings.error_model == "azimuthal")


def _between(values: list[float], place: float) -> float:
    """Interpolate between the centres of two bins. When one has no background, return the value of the nearer bin, the upper one at equal distance."""
    lower = int(place)
    upper, part = min(lower + 1, len(values) - 1), place - lower
    if math.isnan(values[lower]) or math.isnan(values[upper]):
        return values[lower if part < 0.5 else upper]
    return values[lower] * (1 - part) + values[upper] * part


@dataclass(frozen=True)
class Background:
    """Holds the background of an image: centres of bins, means, deviations; and its value at each pixel, including the detector's noise."""

    middle: list[float]
    mean: list[float]
    deviation: list[float]
    at: Values
    sigma: Values
    empty: int  # bins in which pixels lie, and none is left


def background(values: Values, radius: Values, looked: NDArray[np.bool_], settings: Clip) -> Background:
    """Return the background with bins of equal width, at least 1e-9 pixels, from the smallest to the largest distance in range."""
    least, most = float(radius[looked].min()), float(radius[looked].max())
    step = max((most - least) / settings.bins, 1e-9)
    of_bin: list[list[float]] = [[] for _ in range(settings.bins)]
    for distance, value in zip(radius[looked].tolist(), values[looked].tolist(), strict=True):
        place = (distance - least) / step + 1e-9  # a border belongs to the bin above it
        of_bin[min(int(place), settings.bins - 1)].append(value)
    found = [_bin_background(one, settings) for one in of_bin]
    middle = [least + step * (place + 0.5) for place in range(settings.bins)]
    mean, deviation = [one[0] for one in found], [one[1] for one in found]
    place = np.clip((np.where(looked, radius, least) - middle[0]) / step, 0, settings.bins - 1)
    place = place.astype(np.float32).astype(float)  # as kernels have it: half way stays half way
    at, spread = (
        np.vectorize(lambda one, of=found: _between(of, one), otypes=[float])(place) for found in (mean, deviation)
    )
    sigma = np.sqrt(spread**2 + settings.noise**2)
    at, sigma = (one.astype(np.float32).astype(float) for one in (at, sigma))  # as kernels have them: a tie stays one
    empty = sum(math.isnan(one) for one, members in zip(mean, of_bin, strict=True) if members)
    return Background(middle, mean, deviation, at, sigma, empty)


def peakfinder(
    values: Values,
    looked: NDArray[np.bool_],
    under: Background,
    settings: Clip,
    patch: int,
    connected: int,
    panel_of: NDArray[np.int64],
) -> list[dict[str, float]]:
    """Return the pixels above the background that are the largest in their neighbourhood, row by row."""
    excess = np.where(looked & np.isfinite(values), values - under.at, np.nan)
    half, (rows, columns) = patch // 2, values.shape
    peaks = []
    for row in range(half, rows - half):
        for column in range(half, columns - half):
            here = excess[row, column]
            if not (here > 0 and here >= settings.cutoff * under.sigma[row, column]):
                continue
            around = [
                (y, x)
                for y in range(row - half, row + half + 1)
                for x in range(column - half, column + half + 1)
                if panel_of[y, x] == panel_of[row, column] and excess[y, x] > 0
            ]
            above = [one for one in around if excess[one] >= settings.cutoff * under.sigma[one]]
            if any(excess[one] > here for one in around) or len(above) < connected:
                continue
            intensity = float(sum(excess[one] for one in around))
            spread = math.sqrt(sum(under.sigma[one] ** 2 for one in around))
            peaks.append(
                {
                    "x": float(sum(excess[y, x] * x for y, x in around)) / intensity,
                    "y": float(sum(excess[y, x] * y for y, x in around)) / intensity,
                    "intensity": intensity,
                    "snr": intensity / spread if spread > 0 else 0.0,
                    "pixels": len(above),
                    "largest": float(values[row, column]),
                    "background": float(under.at[row, column]),
                }
            )
    return peaks


def sparsify(values: Values, looked: NDArray[np.bool_], under: Background, settings: Clip) -> list[int]:
    """Return the numbers of the listed pixels."""
    picked = []
    for number, (value, looks) in enumerate(zip(values.ravel().tolist(), looked.ravel().tolist(), strict=True)):
        limit = max(settings.noise, settings.cutoff * float(under.sigma.flat[number]))
        if looks and value - float(under.at.flat[number]) > limit:
            picked.append(number)
    return picked
