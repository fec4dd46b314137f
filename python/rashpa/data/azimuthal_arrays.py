# SPDX-License-Identifier: Apache-2.0
"""Inputs of the kernel `azimuthal`: which bins a pixel belongs to, what it is divided by, where the bins lie. Made by pyFAI from a PONI file."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data import geometry
from rashpa.data.given import Image, Values

NO_BIN = np.uint32(0xFFFFFFFF)
MOST_SHARES = 1 << 27
"""Of all pixels in all bins: a GiB of them."""
_SMALLEST = np.float32(1e-30)  # what is divided by less has no value


def azimuthal_arrays(values: Values, image: Image) -> dict[str, NDArray[Any]]:
    """By the names that the kernel declares. ValueError or OSError that begin with the key."""
    shape = image.shape
    path = str(values["poni"])
    if not path:
        raise ValueError("poni: is needed and not there: the geometry, made with pyFAI-calib2")
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
    found = _bins(poni, values, unit, masked)
    if not found["shares"].size if "shares" in found else bool((found["bins"] == NO_BIN).all()):
        raise ValueError(
            f"radial_min: no pixel of {path} lies in the ranges; its radius is {_range_of(poni, shape, unit)}"
        )
    found["norm"] = norm
    if dark is not None:
        found["dark"] = np.where(masked, np.float32(0), dark)
    return found


def _bins(poni: Any, values: Values, unit: str, masked: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """The bins of each pixel, as pyFAI's splitting has them; two-dimensional bins with the azimuth slow."""
    from pyFAI import units

    radial, azimuthal = int(values["bins"]), int(values["azimuthal_bins"])
    radial_range = _range("radial", values, None)
    azimuth_range = _range("azimuth", values, (-180.0, 180.0))
    splitting = str(values["splitting"])
    if splitting != "no":
        _check_shares(poni, values, unit, masked)
    scale = units.to_unit(unit).scale
    two = azimuthal > 0
    npt = (radial, azimuthal) if two else radial
    if azimuth_range is not None and not two:
        azimuth_range = tuple(np.deg2rad(azimuth_range))
    engine = poni.setup_sparse_integrator(
        masked.shape,
        npt,
        mask=masked,
        pos0_range=radial_range,
        pos1_range=azimuth_range,
        unit=(unit, "chi_deg") if two else unit,
        split=splitting,
        algo="CSR",
        empty=0.0,
    )

    def place(bins: NDArray[Any]) -> NDArray[np.uint32]:
        numbers = bins.astype(np.uint32)
        return numbers % np.uint32(azimuthal) * np.uint32(radial) + numbers // np.uint32(azimuthal) if two else numbers

    found: dict[str, NDArray[Any]] = {}
    if splitting == "no":
        bins = np.full(masked.size, NO_BIN, np.uint32)
        numbers = np.repeat(np.arange(len(engine.indptr) - 1, dtype=np.uint32), np.diff(engine.indptr))
        bins[np.asarray(engine.indices)] = place(numbers)
        found["bins"] = bins.reshape(masked.shape)
    else:
        found |= _shares(engine, masked.shape, place)
    if two:
        found["radial_axis"] = np.asarray(engine.bin_centers0, np.float64) * scale
        found["azimuthal_axis"] = np.rad2deg(np.asarray(engine.bin_centers1, np.float64))
    else:
        found["radial_axis"] = np.asarray(engine.bin_centers, np.float64) * scale
    return found


def _shares(
    engine: Any, shape: tuple[int, ...], place: Callable[[NDArray[Any]], NDArray[np.uint32]]
) -> dict[str, NDArray[Any]]:
    """The look-up table by pixel, in place of by bin."""
    pixels, shares = np.asarray(engine.indices), np.asarray(engine.data)
    bins = np.repeat(np.arange(len(engine.indptr) - 1, dtype=np.uint32), np.diff(engine.indptr))
    kept = shares != 0  # rounding leaves shares of 0, and some below, which pyFAI adds as well
    order = np.argsort(pixels[kept], kind="stable")
    counts = np.bincount(pixels[kept], minlength=int(np.prod(shape)))
    return {
        "share_ends": np.cumsum(counts).astype(np.uint32).reshape(shape),
        "share_bins": place(bins[kept][order]),
        "shares": shares[kept][order].astype(np.float32),
    }


def _check_shares(poni: Any, values: Values, unit: str, masked: NDArray[np.bool_]) -> None:
    """Before the table is made: that it does not become too large. Pixels that span many bins have many shares."""
    radius = np.asarray(poni.center_array(masked.shape, unit=unit), np.float64)
    least, most = _range("radial", values, None) or (float(radius.min()), float(radius.max()))
    spans = sum(np.abs(np.diff(radius, axis=axis)).mean() if radius.shape[axis] > 1 else 0.0 for axis in (0, 1))
    expected = (1 + spans / ((most - least) / int(values["bins"]))) * radius.size
    if int(values["azimuthal_bins"]) > 0:
        least, most = _range("azimuth", values, (-180.0, 180.0)) or (-180.0, 180.0)
        angle = np.rad2deg(np.asarray(poni.center_array(masked.shape, unit="chi_rad"), np.float64))
        turns = sum(np.median(np.abs(np.diff(angle, axis=axis))) if angle.shape[axis] > 1 else 0.0 for axis in (0, 1))
        expected *= 1 + turns / ((most - least) / int(values["azimuthal_bins"]))
    if expected > MOST_SHARES:
        raise ValueError(
            f"splitting: pixels would have about {expected / radius.size:.0f} shares each, {expected / 1e6:.0f} million in all, and {MOST_SHARES / 1e6:.0f} "
            "million at most; take fewer bins, or no"
        )


def _range(what: str, values: Values, whole: tuple[float, float] | None) -> tuple[float, float] | None:
    """None: all that there is."""
    least, most = float(values[f"{what}_min"]), float(values[f"{what}_max"])
    if (least, most) == (whole or (0.0, 0.0)):
        return None
    if not least < most:
        raise ValueError(f"{what}_max: {most} is not above {what}_min, which is {least}")
    return least, most


def _above_zero(key: str, path: str, array: NDArray[np.float32], masked: NDArray[np.bool_]) -> None:
    wrong = (array <= 0) & ~masked
    if wrong.any():
        raise ValueError(
            f"{key}: {path}: {geometry.pixel_text(wrong)} is {array[wrong][0]}, which is not above 0; mask it"
        )


def _range_of(poni: Any, shape: tuple[int, int], unit: str) -> str:
    radius = poni.center_array(shape, unit=unit)
    return f"{radius.min():.4g} to {radius.max():.4g} {unit}"
