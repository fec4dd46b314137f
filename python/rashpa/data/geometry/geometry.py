# SPDX-License-Identifier: Apache-2.0
"""Reads the geometry of an experiment for kernels: PONI files (with pyFAI), maps of pixels, masks. Error texts name key, file and pixel.

All files are read in the calling process. They may be foreign, so only regular files of bounded size are read.
"""

import functools
import logging
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import advised
from rashpa.data.files.array_file import cast_exactly, read_array_file
from rashpa.data.files.regular_file import lines_of, read_named_text, reason
from rashpa.data.geometry.laboratory import HC_KEV_ANGSTROM

if TYPE_CHECKING:
    from pyFAI.integrator.azimuthal import AzimuthalIntegrator

_MOST_PONI = 1 << 20  # bytes
_NO_PONI = "is no PONI file; make one with pyFAI-calib2"
_NEEDED = ("Distance", "Poni1", "Poni2", "Rot1", "Rot2", "Rot3")
"""The keys of every version of the format; pyFAI takes 0 for an absent one, as in a file that is cut."""
_WAVELENGTHS = (1e-13, 1e-7)  # m
_OTHER_IMAGE = "make the file again, or give another"
UNITS = ("q_A^-1", "q_nm^-1", "2th_deg", "2th_rad", "r_mm", "d*2_A^-2")


def read_poni(key: str, path: str, shape: tuple[int, int]) -> "AzimuthalIntegrator":
    """Read the geometry for images of `shape` (rows, columns). Raise ValueError or OSError with a text that begins with the key."""
    text = read_named_text(key, path, _MOST_PONI, _NO_PONI)
    try:
        from pyFAI.integrator.azimuthal import AzimuthalIntegrator
        from pyFAI.io.ponifile import PoniFile
    except ImportError:
        raise ValueError(f"{key}: {path}: pyFAI is needed to read it; pip install pyFAI") from None
    for line in lines_of(text):
        name, _, value = line.partition(":")
        further = name.strip().lower() == "splinefile" and value.strip() not in ("", "None")
        if further or ('"filename"' in line and '"filename": null' not in line):
            raise ValueError(
                f"{key}: {path}: names a further file ({line.strip()[:80]}); give a PONI of a flat detector"
            )
    values = _poni_values(text)
    if missing := [name for name in _NEEDED if name.lower() not in values]:
        raise ValueError(
            f"{key}: {path}: has no {', '.join(missing)}; it is cut, or no PONI file: make one with pyFAI-calib2"
        )
    with _Quiet():
        try:
            found = AzimuthalIntegrator.sload(PoniFile(values))
        except Exception as error:  # noqa: BLE001 (pyFAI raises many kinds for a file that is none)
            raise ValueError(
                f"{key}: {path}: is no PONI file that pyFAI reads: {_line(error)}; make one with pyFAI-calib2"
            ) from None
    _check(key, path, found, shape)
    return found


def _check(key: str, path: str, found: "AzimuthalIntegrator", shape: tuple[int, int]) -> None:
    detector = found.detector
    known = detector.shape or detector.max_shape
    if known is not None and tuple(known) != shape:
        raise ValueError(
            f"{key}: {path}: is of a detector {detector.name} of {known[1]} × {known[0]} pixels; the images have {shape[1]} × {shape[0]}"
        )
    numbers = {
        "distance": found.dist,
        "poni1": found.poni1,
        "poni2": found.poni2,
        "rot1": found.rot1,
        "rot2": found.rot2,
        "rot3": found.rot3,
        "pixel size 1": detector.pixel1,
        "pixel size 2": detector.pixel2,
    }
    for name, value in numbers.items():
        if value is None or not np.isfinite(value):
            raise ValueError(f"{key}: {path}: its {name} is {value}; make it again with pyFAI-calib2")
    for name in ("distance", "pixel size 1", "pixel size 2"):
        if not numbers[name] > 0:
            raise ValueError(
                f"{key}: {path}: its {name} is {numbers[name]}, which is not above 0; make it again with pyFAI-calib2"
            )
    if found.wavelength and not _WAVELENGTHS[0] <= found.wavelength <= _WAVELENGTHS[1]:
        raise ValueError(
            f"{key}: {path}: its wavelength is {found.wavelength} m; PONI files have metres, as 1e-10 for 1 Å"
        )
    detector.shape = shape


def _poni_values(text: str) -> dict[str, str]:
    """Return the lines of the checked text by key, as pyFAI would read them."""
    lines = (line.partition(":") for line in lines_of(text) if not line.startswith("#"))
    return {name.strip().lower(): value.strip() for name, colon, value in lines if colon}


def poni_experiment(key: str, path: str) -> dict[str, float]:
    """Return the experiment of a PONI file, by key of [detector]: the distance along the beam, the energy, and the pixel size if pixels are square.
    The values are not checked further. Raise ValueError or OSError with a text that begins with the key."""
    values = _poni_values(read_named_text(key, path, _MOST_PONI, _NO_PONI))
    found: dict[str, float] = {}
    distance, *turns = (_real(values.get(name)) for name in ("distance", "rot1", "rot2"))
    if distance and distance > 0:
        found["distance_m"] = distance / math.prod(math.cos(turn or 0.0) for turn in turns)
    wavelength = _real(values.get("wavelength"))
    if wavelength and wavelength > 0:
        found["energy_kev"] = HC_KEV_ANGSTROM / (wavelength * 1e10)
    config = re.findall(r'"pixel[12]"\s*:\s*([^,}\s]+)', values.get("detector_config", ""))
    sizes = [_real(one) for one in config or (values.get("pixelsize1"), values.get("pixelsize2"))]
    if len(sizes) == 2 and sizes[0] and sizes[0] == sizes[1]:
        found["pixel_size_m"] = sizes[0]
    return found


def _real(text: str | None) -> float | None:
    """Return the number, None when the text is no number."""
    try:
        value = float(text) if text else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class _Quiet:
    """Silences pyFAI's log records on a file, because this module reports the faults. Records of other threads are kept."""

    def __enter__(self) -> None:
        self._logger = logging.getLogger("pyFAI")
        self._before = self._logger.level
        self._logger.setLevel(logging.CRITICAL + 1)

    def __exit__(self, *_: object) -> None:
        self._logger.setLevel(self._before)


def _line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0][:200]


def checked_unit(key: str, path: str, poni: "AzimuthalIntegrator", unit: str) -> str:
    """Return the unit if the geometry can be expressed in it. Raise ValueError otherwise."""
    needs_wavelength = unit.startswith(("q_", "d"))
    if needs_wavelength and not (poni.wavelength and np.isfinite(poni.wavelength) and poni.wavelength > 0):
        raise ValueError(f"{key}: {path}: has no wavelength, which {unit} needs; take 2th_deg, or put it there")
    return unit


def read_image(key: str, path: str, shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Read numbers for pixels, [row][column], from any file that holds one such array (array_file.py). Raise ValueError or OSError with a text that
    begins with the key."""
    try:
        return read_array_file(path, np.dtype(dtype), shape)
    except OSError as error:
        raise OSError(advised(f"{key}: {path}: {reason(error)}", _OTHER_IMAGE)) from None
    except ValueError as error:
        raise ValueError(advised(f"{key}: {error}", _OTHER_IMAGE)) from None


def read_numbers(key: str, path: str, shape: tuple[int, int], masked: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Read a map of numbers, such as dark or flat. Raise ValueError that names the first unmasked pixel without a number."""
    found = read_image(key, path, shape, "<f4")
    wrong = ~np.isfinite(found) & ~masked
    if wrong.any():
        raise ValueError(f"{key}: {path}: {pixel_text(wrong)} is {found[wrong][0]}; mask it, or make the file again")
    try:
        return cast_exactly(found, np.dtype(np.float32))
    except ValueError as error:
        raise ValueError(f"{key}: {path}: {error}; make the file again") from None


def read_mask(key: str, path: str, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return True for a masked pixel: the file's value is not 0, as in pyFAI, fit2d and NeXus."""
    return np.asarray(read_image(key, path, shape, "u1") != 0)


def pixel_text(wrong: NDArray[np.bool_]) -> str:
    """Return the first True pixel as text."""
    row, column = np.argwhere(wrong)[0]
    return f"the pixel in row {row}, column {column}"


@functools.cache
def version() -> str:
    """Return the version of pyFAI, for provenance."""
    import pyFAI

    return f"pyFAI {pyFAI.version}"
