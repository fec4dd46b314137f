"""Calibration of JUNGFRAU modules: pedestal, gain and mask from files, and the plain conversion of raw words with them."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.dataset_spec import CalibrationSpec

LARGEST_MAP = 1 << 34
"""Bytes that a decompressed calibration file may have."""


@dataclass(frozen=True)
class Calibration:
    """Of one module: pedestal (ADU) and gain (ADU/keV, negative in G1 and G2) float32 [3][height][width]; mask uint32 [height][width],
    NXmx pixel_mask bits."""

    pedestal: NDArray[np.float32]
    gain: NDArray[np.float32]
    mask: NDArray[np.uint32]


def load_calibration(spec: CalibrationSpec, height: int, width: int) -> list[Calibration]:
    """One Calibration a module. Raises FileError with path and reason."""
    scale = np.float32(1.0 / spec.photon_energy_kev) if spec.gain_unit == "adu_per_photon" else np.float32(1.0)
    modules = []
    for module, (pedestal, gain) in enumerate(zip(spec.pedestal, spec.gain, strict=True)):
        mask = (
            load_map(spec.mask[module], np.dtype("<u4"), (height, width))
            if spec.mask
            else np.zeros((height, width), np.uint32)
        )
        modules.append(Calibration(_gains(pedestal, height, width), _gains(gain, height, width) * scale, mask))
    return modules


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
        array = _array(reference, dtype, shape)
    except (OSError, ValueError, KeyError, EOFError, zstandard.ZstdError) as error:
        raise _native.FileError(f"calibration: {reference}: {error}") from None
    if array.shape != shape:
        raise _native.FileError(f"calibration: {reference}: its shape is {list(array.shape)}; {list(shape)} is needed")
    return np.ascontiguousarray(array, dtype=dtype.newbyteorder("="))


def _array(reference: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    name, separator, key = reference.rpartition(":")
    if separator and name.endswith(".npz"):
        with np.load(name, allow_pickle=False) as archive:
            if key not in archive.files:
                raise ValueError(f"no array '{key}'; the archive has {', '.join(archive.files)}")
            return np.asarray(archive[key])
    if reference.endswith(".npz"):
        raise ValueError("say which array of the archive: file.npz:key")
    data = Path(reference).read_bytes()
    inner = reference
    if reference.endswith(".zst"):
        inner = reference.removesuffix(".zst")
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
            data = reader.read(LARGEST_MAP)
    if inner.endswith(".npy"):
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))
    expected = int(np.prod(shape)) * dtype.itemsize
    if len(data) != expected:
        raise ValueError(f"{len(data)} bytes; {dtype.name} {list(shape)} has {expected}")
    return np.frombuffer(data, dtype).reshape(shape)


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
