# SPDX-License-Identifier: Apache-2.0
"""Computes bins along radius and azimuth, and the share of a pixel in each bin: by its centre, its bounding box, or its area.

A border belongs to the bin above it, the end of a range to its last bin. Azimuths are periodic: a pixel is moved by whole turns into the range, so
that a range may begin anywhere and span a whole circle.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]

NO_BIN = -1
_TURN = 360.0
_NEAR = 1e-9
"""A share of a bin: a centre that is so near to a border lies on it, since geometry in metres is rounded."""
_AT_BEAM = 1e-6
"""A share of the largest radius of a pixel: a corner that is nearer to the beam has no azimuth."""
_LEAST_SHARE = 1e-9
_AT_ONCE = 1 << 15
"""Pixels whose areas are cut at a time."""


@dataclass(frozen=True)
class Bins:
    """Divides the range `least` to `most` into `count` equal bins."""

    least: float
    most: float
    count: int

    @property
    def width(self) -> float:
        return (self.most - self.least) / self.count

    @property
    def centres(self) -> Reals:
        return np.asarray(self.least + (np.arange(self.count) + 0.5) * self.width, np.float64)

    def border(self, number: Numbers) -> Reals:
        """Return the lower border of a bin."""
        return np.asarray(self.least + number * self.width, np.float64)

    def of(self, places: Reals) -> Numbers:
        """Return the bin of each place, NO_BIN for a place outside of the range or NaN."""
        reached = (places - self.least) / self.width
        inside = (reached >= -_NEAR) & (reached <= self.count + _NEAR)  # false for not-a-number
        numbers = np.floor(np.where(inside, reached, 0) + _NEAR).astype(np.int64)
        return np.where(inside, np.clip(numbers, 0, self.count - 1), NO_BIN)

    def touched(self, low: Reals, high: Reals) -> tuple[Numbers, Numbers]:
        """Return the first bin of each interval, and the bin after its last one. Both are equal for an interval outside of the range."""
        ends = ((low - self.least) / self.width, (high - self.least) / self.width)
        first = np.clip(np.floor(np.nan_to_num(ends[0])), 0, self.count).astype(np.int64)
        last = np.clip(np.ceil(np.nan_to_num(ends[1])), 0, self.count).astype(np.int64)
        return first, np.maximum(first, last)


def angle(azimuth: Reals) -> Reals:
    """Return an angle in degrees, greater than −180 and at most 180. An angle that rounding has put just above −180 becomes 180."""
    turned = azimuth - _TURN * np.round(azimuth / _TURN)
    return np.where(turned < _NEAR - 180, turned + _TURN, turned)


def folded(azimuth: Reals, bins: Bins) -> Reals:
    """Move angles into the range by whole turns, where possible. Angles in the range stay."""
    margin = _NEAR * bins.width
    outside = (azimuth < bins.least - margin) | (azimuth > bins.most + margin)
    turned = azimuth + _TURN * np.ceil((bins.least - margin - azimuth) / _TURN)
    return np.where(outside, turned, azimuth)


@dataclass(frozen=True)
class Shares:
    """Holds the share of each pixel in each bin, in the order of pixels. `bins`: numbers of bins, ordered by azimuth, then radius."""

    pixel: Numbers
    bins: Numbers
    share: Reals


def bins_of_centres(radius: Reals, azimuth: Reals, radial: Bins, azimuthal: Bins) -> Numbers:
    """Return the bin of each pixel's centre, ordered by azimuth, then radius; NO_BIN outside of the range."""
    slow, fast = azimuthal.of(folded(angle(azimuth), azimuthal)), radial.of(radius)
    return np.where((slow == NO_BIN) | (fast == NO_BIN), NO_BIN, slow * radial.count + fast)


@dataclass(frozen=True)
class Boxes:
    """Holds the bounding boxes of pixels: radius and azimuth from low to high, one value for each pixel; an azimuth spans at most a turn."""

    radius: tuple[Reals, Reals]
    azimuth: tuple[Reals, Reals]

    def __getitem__(self, chosen: slice | Numbers) -> "Boxes":
        return Boxes(
            (self.radius[0][chosen], self.radius[1][chosen]), (self.azimuth[0][chosen], self.azimuth[1][chosen])
        )


def shares_of_boxes(boxes: Boxes, radial: Bins, azimuthal: Bins) -> Shares:
    """Return the share of each pixel in each bin, by its bounding box."""
    parts = []
    for first in range(0, len(boxes.radius[0]), _AT_ONCE):
        some = boxes[slice(first, first + _AT_ONCE)]
        parts += [
            _kept(one, _of_box(some, one, radial, azimuthal), first, radial.count)
            for one in _met(some, radial, azimuthal)
        ]
    return _in_order(parts)


def shares_of_areas(corners: Reals, boxes: Boxes, radial: Bins, azimuthal: Bins) -> Shares:
    """Return the share of each pixel in each bin by its area, in the plane of radius and azimuth. `corners`: [pixel][corner][radius, azimuth], with
    continuous azimuths. A pixel that contains the beam has no outline in that plane; its bounding box is used."""
    parts = []
    for first in range(0, len(corners), _AT_ONCE):
        some, outline = boxes[slice(first, first + _AT_ONCE)], corners[first : first + _AT_ONCE]
        whole = _area(outline)
        flat = ~(np.abs(whole) > 0) | (some.azimuth[1] - some.azimuth[0] >= _TURN)
        for one in _met(some, radial, azimuthal):
            share = _of_box(some, one, radial, azimuthal)
            cut = (share < 1) & ~flat[one.pixel]  # the box of all others, which lie in one bin, says the same
            pairs = one[cut]
            share[cut] = _cut(outline, pairs, radial, azimuthal) / whole[pairs.pixel]
            parts.append(_kept(one, share, first, radial.count))
    return _in_order(parts)


def outlines(radius: Reals, azimuth: Reals, centre: Reals) -> tuple[Reals, Boxes]:
    """Return corners with continuous azimuths, and the bounding boxes, from radius and azimuth of the corners [pixel][corner] and azimuths of the
    centres. The box of a pixel that contains the beam begins at radius 0 and spans a whole turn."""
    near = radius <= _AT_BEAM * radius.max(axis=1, keepdims=True)
    turned = np.where(near, 0.0, azimuth - centre[:, np.newaxis])
    turned -= _TURN * np.round(turned / _TURN)
    steps = np.roll(turned, -1, axis=1) - turned
    around = np.abs(np.round(steps / _TURN).sum(axis=1)) > 0
    corners = np.stack((radius, centre[:, np.newaxis] + turned), axis=-1)
    low, high = corners.min(axis=1), corners.max(axis=1)
    low[around, 0] = 0
    low[around, 1], high[around, 1] = -180.0, 180.0
    return corners, Boxes((low[:, 0], high[:, 0]), (low[:, 1], high[:, 1]))


@dataclass(frozen=True)
class _Met:
    """Holds pairs of a pixel and a bin that may overlap. `turn`: the angle that was added to the pixel's azimuth."""

    pixel: Numbers
    turn: Reals
    slow: Numbers
    fast: Numbers

    def __getitem__(self, chosen: NDArray[np.bool_]) -> "_Met":
        return _Met(self.pixel[chosen], self.turn[chosen], self.slow[chosen], self.fast[chosen])


def _met(boxes: Boxes, radial: Bins, azimuthal: Bins) -> Iterator[_Met]:
    """Yield pairs that may overlap. A pixel's azimuth and the range span at most a turn each, so that two numbers of turns suffice."""
    low, high = boxes.azimuth
    finite = np.isfinite(low) & np.isfinite(high) & np.isfinite(boxes.radius[0]) & np.isfinite(boxes.radius[1])
    base = _TURN * np.ceil((azimuthal.least - np.where(finite, low, 0)) / _TURN)
    fast_first, fast_end = radial.touched(*boxes.radius)
    for turn in (base, base - _TURN):
        slow_first, slow_end = azimuthal.touched(low + turn, high + turn)
        slow_count = np.where(finite, slow_end - slow_first, 0)
        counts = slow_count * (fast_end - fast_first)
        pixel = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(pixel)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = np.maximum(fast_end - fast_first, 1)[pixel]
        yield _Met(pixel, turn[pixel], slow_first[pixel] + place // rows, fast_first[pixel] + place % rows)


def _part(low: Reals, high: Reals, bins: Bins, number: Numbers) -> Reals:
    """Return the share of an interval that lies in a bin. An interval without length counts as a point."""
    least, most = bins.border(number), bins.border(number + 1)
    length = high - low
    inside = np.minimum(high, most) - np.maximum(low, least)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(length > 0, np.maximum(inside, 0) / length, (low >= least) & (low < most))


def _of_box(boxes: Boxes, one: _Met, radial: Bins, azimuthal: Bins) -> Reals:
    low, high = boxes.azimuth[0][one.pixel] + one.turn, boxes.azimuth[1][one.pixel] + one.turn
    of_radius = _part(boxes.radius[0][one.pixel], boxes.radius[1][one.pixel], radial, one.fast)
    return np.asarray(of_radius * _part(low, high, azimuthal, one.slow), np.float64)


def _area(corners: Reals) -> Reals:
    """Return the signed area of each outline."""
    x, y = corners[..., 0] - corners[:, :1, 0], corners[..., 1]
    return np.asarray(((x + np.roll(x, -1, axis=1)) * (np.roll(y, -1, axis=1) - y)).sum(axis=1) / 2, np.float64)


def _cut(corners: Reals, one: _Met, radial: Bins, azimuthal: Bins) -> Reals:
    """Return the signed area of each outline within its bin. For the part of each edge between the bin's azimuths, it sums the mean distance from the
    bin's inner border, limited to the bin's width (Green's theorem for the clamped outline)."""
    left = radial.border(one.fast)
    right = radial.border(one.fast + 1) - left
    x = [side - left for side in corners[one.pixel, :, 0].T]
    y = [side + one.turn for side in corners[one.pixel, :, 1].T]
    low, high = azimuthal.border(one.slow), azimuthal.border(one.slow + 1)
    outside = np.flatnonzero((np.minimum.reduce(y) < low) | (np.maximum.reduce(y) > high))
    total = np.zeros(len(left))
    for edge in range(len(x)):
        after = (edge + 1) % len(x)
        part = _between(x[edge], x[after], right) * (y[after] - y[edge])
        part[outside] = _along(
            (x[edge][outside], x[after][outside]),
            (y[edge][outside], y[after][outside]),
            right[outside],
            (low[outside], high[outside]),
        )
        total += part
    return total


def _along(x: tuple[Reals, Reals], y: tuple[Reals, Reals], right: Reals, limits: tuple[Reals, Reals]) -> Reals:
    """Return the area under one edge between the limits of azimuth."""
    from_y, to_y = np.clip(y[0], *limits), np.clip(y[1], *limits)
    rise = y[1] - y[0]
    slope = np.divide(x[1] - x[0], rise, out=np.zeros_like(rise), where=rise != 0)
    from_x, to_x = x[0] + (from_y - y[0]) * slope, x[0] + (to_y - y[0]) * slope
    return _between(from_x, to_x, right) * (to_y - from_y)


def _between(x0: Reals, x1: Reals, right: Reals) -> Reals:
    """Return the mean, along a straight line from x0 to x1, of the value limited to 0 … `right`."""
    low, high = np.minimum(x0, x1), np.maximum(x0, x1)
    with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is crossed, that branch is not taken
        up_to_right = right - (right - low) ** 2 / (2 * (high - low))
        below_0 = -(low**2) / (2 * (high - low))
    middle = (low + high) / 2
    up_to_right = np.where(high <= right, middle, np.where(low >= right, right, up_to_right))
    below_0 = np.where(high <= 0, middle, np.where(low >= 0, 0, below_0))
    return np.asarray(up_to_right - below_0, np.float64)


def _kept(one: _Met, share: Reals, first: int, fast: int) -> Shares:
    kept = share > _LEAST_SHARE
    return Shares(one.pixel[kept] + first, one.slow[kept] * fast + one.fast[kept], share[kept])


def _in_order(parts: list[Shares]) -> Shares:
    """Sort shares by pixel and bin. Add up a pixel's two shares in one bin, before and after a turn, because error propagation needs the square of
    their sum."""
    pixel, bins, share = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("pixel", "bins", "share")
    )
    order = np.lexsort((bins, pixel))
    pixel, bins, share = pixel[order], bins[order], share[order]
    first = np.flatnonzero(np.r_[True, (np.diff(pixel) != 0) | (np.diff(bins) != 0)][: len(pixel)])
    return Shares(pixel[first], bins[first], np.add.reduceat(share, first) if len(first) else share)
