# SPDX-License-Identifier: Apache-2.0
"""Computes the inputs of the kernel `azimuthal`: the bins of each pixel, its divisor, and the places of the bins. pyFAI computes the places of pixels
from a PONI file; this module assigns the bins."""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rashpa.data.geometry import azimuthal_bins, geometry
from rashpa.data.geometry.azimuthal_bins import Bins, Boxes, Shares
from rashpa.data.geometry.given import Image, Values

NO_BIN = np.uint32(0xFFFFFFFF)
MOST_SHARES = 1 << 27
"""The most shares of all pixels in all bins: a GiB of them."""
_SMALLEST = np.float32(1e-30)  # a quotient by less has no value


def azimuthal_arrays(values: Values, image: Image) -> dict[str, NDArray[Any]]:
    """Return the arrays by the names that the kernel declares. Raise ValueError or OSError with a text that begins with the key."""
    shape = image.shape
    path = str(values["poni"])
    if not path:
        raise ValueError("poni: there is no geometry; make one with pyFAI-calib2")
    poni = geometry.read_poni("poni", path, shape)
    unit = geometry.checked_unit("radial_unit", path, poni, str(values["radial_unit"]))
    masked = image.masked.copy()
    if values["mask"]:
        masked |= geometry.read_mask("mask", str(values["mask"]), shape)
    norm = np.ones(shape, np.float32)
    if values["flat"]:
        flat = geometry.read_numbers("flat", str(values["flat"]), shape, masked)
        dead = ~np.isfinite(flat) | (flat == 0)  # a flat of 0 says: this pixel counts nothing
        _above_zero("flat", str(values["flat"]), flat, masked | dead)
        masked |= dead
        norm[~dead] *= flat[~dead]
    dark = None
    if values["dark"]:
        dark = geometry.read_numbers("dark", str(values["dark"]), shape, masked)
        masked |= ~np.isfinite(dark)
    if values["polarization"]:
        norm *= poni.polarization(shape, factor=float(values["polarization_factor"])).astype(np.float32)
    if values["solid_angle"]:
        norm *= poni.solidAngleArray(shape, absolute=False).astype(np.float32)
    masked |= ~(norm > _SMALLEST)
    if masked.all():
        raise ValueError(f"mask: {values['mask'] or path}: no pixel is left; all are masked")
    azimuthal = _azimuthal_bins(values)
    found = _bins(_Places(poni, unit, shape, masked), values, azimuthal)
    if not found["shares"].size if "shares" in found else bool((found["bins"] == NO_BIN).all()):
        _refuse_ranges(_Places(poni, unit, shape, masked), path, azimuthal)
    found["norm"] = norm
    if dark is not None:
        found["dark"] = np.where(masked, np.float32(0), dark)
    return found


@dataclass(frozen=True)
class _Places:
    """Holds the places of unmasked pixels: radius in `unit`, azimuth in degrees."""

    poni: Any
    unit: str
    shape: tuple[int, int]
    masked: NDArray[np.bool_]

    def radius(self) -> NDArray[np.float64]:
        return self._counted(self.poni.center_array(self.shape, unit=self.unit))

    def azimuth(self) -> NDArray[np.float64]:
        return np.rad2deg(self._counted(self.poni.center_array(self.shape, unit="chi_rad")))

    def boxes(self) -> Boxes:
        radius, azimuth = self.radius(), self.azimuth()
        across = self._counted(self.poni.delta_array(self.shape, unit=self.unit, scale=True))
        around = np.minimum(
            np.rad2deg(self._counted(self.poni.delta_array(self.shape, unit="chi_rad", scale=True))), 180.0
        )
        return Boxes((np.maximum(radius - across, 0), radius + across), (azimuth - around, azimuth + around))

    def outlines(self) -> tuple[NDArray[np.float64], Boxes]:
        corners = np.asarray(self.poni.corner_array(self.shape, unit=self.unit), np.float64)[~self.masked]
        return azimuthal_bins.outlines(corners[..., 0], np.rad2deg(corners[..., 1]), self.azimuth())

    def _counted(self, array: Any) -> NDArray[np.float64]:
        return np.asarray(array, np.float64)[~self.masked]


def _bins(places: _Places, values: Values, azimuthal: Bins) -> dict[str, NDArray[Any]]:
    """Return the bins of each pixel, as whole pixels or split over bins. Bins in two dimensions are ordered by azimuth, then radius."""
    splitting = str(values["splitting"])
    found: dict[str, NDArray[Any]] = {}
    if splitting == "no":
        radius = places.radius()
        radial = _radial_bins(values, radius, radius)
        bins = np.full(places.shape, NO_BIN, np.uint32)
        numbers = azimuthal_bins.bins_of_centres(radius, places.azimuth(), radial, azimuthal)
        bins[~places.masked] = np.where(numbers == azimuthal_bins.NO_BIN, NO_BIN, numbers).astype(np.uint32)
        found["bins"] = bins
    else:
        corners, boxes = places.outlines() if splitting == "full" else (None, places.boxes())
        radial = _radial_bins(values, *boxes.radius)
        _check_shares(boxes, radial, azimuthal)
        if corners is None:
            found |= _by_pixel(azimuthal_bins.shares_of_boxes(boxes, radial, azimuthal), places.masked)
        else:
            found |= _by_pixel(azimuthal_bins.shares_of_areas(corners, boxes, radial, azimuthal), places.masked)
    found["radial_axis"] = radial.centres
    if int(values["azimuthal_bins"]) > 0:
        found["azimuthal_axis"] = azimuthal.centres
    return found


def _by_pixel(shares: Shares, masked: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return the shares in the form that the kernel takes."""
    counts = np.zeros(masked.shape, np.int64)
    counts[~masked] = np.bincount(shares.pixel, minlength=int((~masked).sum()))
    return {
        "share_ends": np.cumsum(counts).astype(np.uint32).reshape(masked.shape),
        "share_bins": shares.bins.astype(np.uint32),
        "shares": shares.share.astype(np.float32),
    }


def _check_shares(boxes: Boxes, radial: Bins, azimuthal: Bins) -> None:
    """Check, before the table is made, that it does not become too large: a pixel that spans many bins has many shares. Raise ValueError."""
    pixels = len(boxes.radius[0])
    across = 1 + np.maximum(boxes.radius[1] - boxes.radius[0], 0) / radial.width
    around = 1 + (boxes.azimuth[1] - boxes.azimuth[0]) / azimuthal.width if azimuthal.count > 1 else 1.0
    expected = float(np.nansum(np.minimum(across, radial.count) * np.minimum(around, azimuthal.count)))
    if expected > MOST_SHARES:
        raise ValueError(
            f"splitting: pixels would have about {expected / pixels:.0f} shares each, {expected / 1e6:.0f} million in all, and {MOST_SHARES / 1e6:.0f} "
            "million at most; take fewer bins, or no"
        )


def _radial_bins(values: Values, low: NDArray[np.float64], high: NDArray[np.float64]) -> Bins:
    """Return bins of the requested range. When both ends are 0, the range is that of all pixels, from `low` to `high`."""
    least, most = float(values["radial_min"]), float(values["radial_max"])
    if (least, most) == (0.0, 0.0):
        least, most = float(np.nanmin(low)), float(np.nanmax(high))
        most = max(most, np.nextafter(np.float32(least), np.float32(np.inf), dtype=np.float32).item())
    elif not least < most:
        raise ValueError(f"radial_max: {most} is not above radial_min, which is {least}; give a larger one")
    return Bins(least, most, int(values["bins"]))


def _azimuthal_bins(values: Values) -> Bins:
    """Return the azimuthal bins; for a one-dimensional result, one bin over the whole range."""
    least, most = float(values["azimuth_min"]), float(values["azimuth_max"])
    if not least < most:
        further = f"; a range across 180 ends above it: {most + 360:g}" if least < most + 360 else ""
        raise ValueError(
            f"azimuth_max: {most:g} is not above azimuth_min, which is {least:g}; give a larger one{further}"
        )
    if most - least > 360:
        raise ValueError(f"azimuth_max: {most:g} is {most - least:g} degrees above azimuth_min; a circle has 360")
    return Bins(least, most, max(1, int(values["azimuthal_bins"])))


def _refuse_ranges(places: _Places, path: str, azimuthal: Bins) -> NoReturn:
    """Raise ValueError that names the range that contains no pixel."""
    azimuth = azimuthal_bins.angle(places.azimuth())
    if not (azimuthal.of(azimuthal_bins.folded(azimuth, azimuthal)) != azimuthal_bins.NO_BIN).any():
        raise ValueError(
            f"azimuth_min: no pixel of {path} lies from {azimuthal.least:g} to {azimuthal.most:g} degrees; its azimuth is "
            f"{azimuth.min():.4g} to {azimuth.max():.4g}"
        )
    radius = places.radius()
    raise ValueError(
        f"radial_min: no pixel of {path} lies in the ranges; choose one in {radius.min():.4g} to {radius.max():.4g} {places.unit}"
    )


def _above_zero(key: str, path: str, array: NDArray[np.float32], masked: NDArray[np.bool_]) -> None:
    wrong = (array <= 0) & ~masked
    if wrong.any():
        raise ValueError(
            f"{key}: {path}: {geometry.pixel_text(wrong)} is {array[wrong][0]}, which is not above 0; mask it"
        )
