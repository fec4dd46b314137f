# SPDX-License-Identifier: Apache-2.0
"""Calibration of JUNGFRAU modules: pedestal, gain and mask from files, and the plain conversion of raw words with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.bounded_array import read_array
from rashpa.data.dataset_spec import CalibrationSpec
from rashpa.data.regular_file import reason


@dataclass(frozen=True)
class Calibration:
    """Of one module: pedestal (ADU) and gain (ADU/keV, negative in G1 and G2) float32 [3][height][width]; mask uint32 [height][width],
    NXmx pixel_mask bits."""

    pedestal: NDArray[np.float32]
    gain: NDArray[np.float32]
    mask: NDArray[np.uint32]


def load_calibration(spec: CalibrationSpec, height: int, width: int) -> list[Calibration]:
    """One Calibration a module. Raises FileError with path and reason."""
    modules = []
    for module, (pedestal, gain) in enumerate(zip(spec.pedestal, spec.gain, strict=True)):
        mask = (
            load_map(spec.mask[module], np.dtype("<u4"), (height, width))
            if spec.mask
            else np.zeros((height, width), np.uint32)
        )
        modules.append(Calibration(_gains(pedestal, height, width), _per_kev(_gains(gain, height, width), spec), mask))
    return modules


def _per_kev(gain: NDArray[np.float32], spec: CalibrationSpec) -> NDArray[np.float32]:
    """ADU/keV: the quotient is made in double and rounded to float32 once."""
    if spec.gain_unit == "adu_per_kev":
        return gain
    with np.errstate(over="ignore", invalid="ignore"):  # not finite: no valid calibration
        return (gain.astype(np.float64) / spec.photon_energy_kev).astype(np.float32)


def _gains(entry: str | Sequence[str], height: int, width: int) -> NDArray[np.float32]:
    if isinstance(entry, str):
        return load_map(entry, np.dtype("<f4"), (3, height, width))
    if len(entry) != 3:
        raise _native.FileError(f"calibration: {', '.join(entry)}: {len(entry)} files; give one for each of G0, G1, G2")
    return np.stack([load_map(name, np.dtype("<f4"), (height, width)) for name in entry])


def load_map(reference: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The array that `reference` names: `.npy`, headerless, `.zst` of either, or `archive.npz:key`. It must have `shape`; `.npy` and `.npz` may
    have another number type, which is converted; headerless bytes are `dtype`. Raises FileError."""
    try:
        array = read_array(reference, dtype, shape)
        with np.errstate(over="raise", invalid="raise"):
            return np.ascontiguousarray(array, dtype=dtype.newbyteorder("="))
    except OSError as error:
        raise _native.FileError(f"calibration: {reference}: {reason(error)}") from None
    except Exception as error:  # noqa: BLE001 (zip, zstd and .npy raise many kinds for a file that is not what it says)
        said = str(error) or type(error).__name__
        why = f"its values do not fit into {dtype.name}" if isinstance(error, FloatingPointError) else said
        raise _native.FileError(f"calibration: {reference}: {why}; make the file again, or copy it again") from None


def to_photons(raw: NDArray[np.uint16], calibration: Calibration, energy_kev: float) -> NDArray[np.float32]:
    """Photons of one raw frame, not rounded: the slow and plain form of the kernel `jungfrau` (its README has the table). Masked: NaN; overflow: inf."""
    code = raw >> 14
    index = np.minimum(code, 2).astype(np.intp)[np.newaxis]
    pedestal = np.take_along_axis(calibration.pedestal, index, axis=0)[0]
    gain = np.take_along_axis(calibration.gain, index, axis=0)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        photons: NDArray[np.float32] = ((raw & 0x3FFF).astype(np.float32) - pedestal) / (gain * np.float32(energy_kev))
    photons[raw == 0xC000] = np.inf
    invalid = (code == 2) | (raw == 0xFFFF) | (raw == 0x4000) | (gain == 0) | (calibration.mask != 0)
    photons[invalid | ((code == 0) & (pedestal > 16383))] = np.nan
    return photons
