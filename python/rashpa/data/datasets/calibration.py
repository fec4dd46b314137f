# SPDX-License-Identifier: Apache-2.0
"""Loads the calibration of JUNGFRAU modules (pedestal, gain and mask) from files, and converts raw words with it in plain NumPy."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.base.bad_file import advised
from rashpa.data.datasets.calibration_reference import split_reference
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.files.array_file import cast_exactly, read_array_file
from rashpa.data.files.regular_file import reason

SIMULATED_SHAPE = (1024, 512)
_HIGH_GAIN = "highgain0"
_ONLY_STAGE = {"forceswitchg1": 1, "fixg1": 1, "forceswitchg2": 2, "fixg2": 2}
_MOST_THREADS = 8
_COMMON_MODE_ADU = 14.0  # of the simulator, src/rashpa/dataset/jungfrau/jungfrau_calibration.hpp


@dataclass(frozen=True)
class Calibration:
    """Holds the maps of one module: pedestal (ADU) and gain (ADU/keV, negative in G1 and G2), float32 [3][height][width]; mask, uint32
    [height][width], NXmx pixel_mask bits. With storage cells, pedestal is [cells][3][height][width]; so is gain where cells differ in it."""

    pedestal: NDArray[np.float32]
    gain: NDArray[np.float32]
    mask: NDArray[np.uint32]
    rms: NDArray[np.float32] | None = None
    """ADU, of the pedestal of G0: [height][width], with storage cells [cells][height][width]; None: not known."""
    cells: tuple[int, ...] = ()
    """The storage cell of each set of pedestals; none: one set for images of every cell."""


def load_calibration(spec: CalibrationSpec, height: int, width: int, modules: int | None = None) -> list[Calibration]:
    """Return one Calibration for each module. `modules`: the required number, by default the number in `spec`. Raise FileError that names path and
    reason, or ConfigError."""
    if modules is not None and spec.modules not in (None, modules):
        raise _native.ConfigError(
            f"[detector.calibration] has {spec.modules} entries for {modules} modules; give one a module"
        )
    if spec.simulated_seed is not None:
        return _simulated(spec.simulated_seed, height, width, modules or 1)
    made = []
    for module, (pedestal, gain) in enumerate(zip(spec.pedestal, spec.gain or spec.pedestal, strict=True)):
        found = _calibration_file(pedestal, module)
        mask_from = spec.mask[module] if spec.mask else pedestal if found else None
        mask = np.zeros((height, width), np.uint32)
        if isinstance(mask_from, str):
            mask = _map_of(mask_from, module, "mask", np.dtype("<u4"), (height, width))
        shape = (height, width)
        cells = _cells_of(spec, found)
        pedestals = _sets(pedestal, module, "pedestal", (spec.gain_mode, cells), shape)
        for each in pedestals.reshape(-1, 3, *shape):
            _check_pedestals(each, mask, pedestal, module)
        rms = _rms(str(pedestal), module, cells, shape) if found else None
        gains = _in_mode(_sets(gain, module, "gain", (spec.gain_mode, cells), shape), spec.gain_mode)
        unit_said = not isinstance(gain, str) or split_reference(gain) is None  # a calibration file has ADU/keV
        made.append(Calibration(pedestals, _per_kev(gains, spec) if unit_said else gains, mask, rms, cells))
        if cells != made[0].cells:
            raise _native.FileError(
                f"calibration: {pedestal}: module {module} has storage cells {list(cells)}, module 0 {list(made[0].cells)}; calibrate them together"
            )
    return made


def _rms(entry: str, module: int, cells: Sequence[int], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return the RMS of the pedestals of G0 in a calibration file: one map, or one for each storage cell."""
    sets = (len(cells),) if cells else ()
    found = _map_of(entry, module, "rms", np.dtype("<f4"), (*sets, 3, *shape))
    return np.ascontiguousarray(found[..., 0, :, :])


def _cells_of(spec: CalibrationSpec, found: tuple[str, int] | None) -> tuple[int, ...]:
    """Return the storage cells that `spec` gives, otherwise those of the calibration file."""
    if spec.storage_cells or found is None:
        return tuple(spec.storage_cells)
    from rashpa.data.datasets.calibration_file import CalibrationFileError, read_cells

    name, module = found
    try:
        return read_cells(Path(name), module)
    except (OSError, CalibrationFileError) as error:
        said = reason(error) if isinstance(error, OSError) else str(error)
        raise _native.FileError(f"calibration: {name}: {said}; `rashpa calibrate pedestal` makes such a file") from None


def _simulated(seed: int, height: int, width: int, modules: int) -> list[Calibration]:
    if (width, height) != SIMULATED_SHAPE:
        raise _native.ConfigError(
            f"[detector.calibration] simulated_seed: simulated modules have {' × '.join(map(str, SIMULATED_SHAPE))} pixels, these {width} × {height}; "
            "name files of pedestal and gain"
        )
    return simulated_calibration(seed, modules)


def simulated_calibration(seed: int, modules: int) -> list[Calibration]:
    """Return the calibration of each module of a simulated JUNGFRAU with this seed."""
    with ThreadPoolExecutor(min(_MOST_THREADS, len(os.sched_getaffinity(0)))) as pool:
        return list(pool.map(partial(_simulated_module, seed), range(modules)))


def _simulated_module(seed: int, module: int) -> Calibration:
    maps = _native.jungfrau_calibration(seed, module)
    return Calibration(maps["pedestal"], maps["gain"], maps["mask"], simulated_rms(maps["noise"]))


def simulated_rms(noise: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the RMS of each pixel's pedestal, from its own noise and the common mode of its chip."""
    return np.hypot(noise, np.float32(_COMMON_MODE_ADU))


def _check_pedestals(
    pedestal: NDArray[np.float32], mask: NDArray[np.uint32], entry: str | Sequence[str], module: int
) -> None:
    """Check that each unmasked pixel has numbers as pedestals. A gain G1 or G2 without any number is not calibrated, and its words are masked."""
    wrong = ~np.isfinite(pedestal) & ((mask & 0xFFFF) == 0)
    for gain in (1, 2):
        wrong[gain] &= not np.isnan(pedestal[gain]).all()
    if not wrong.any():
        return
    gain, row, column = (int(at[0]) for at in np.nonzero(wrong))
    name = entry if isinstance(entry, str) else entry[gain]
    raise _native.FileError(
        f"calibration: {name}: [detector.calibration] pedestal of module {module}: pixel ({column}, {row}), G{gain} is "
        f"{pedestal[gain, row, column]} ({np.count_nonzero(wrong)} such values); mask the pixel, or calibrate again"
    )


def _per_kev(gain: NDArray[np.float32], spec: CalibrationSpec) -> NDArray[np.float32]:
    """Return the gain in ADU/keV, divided in double precision and rounded to float32 once."""
    if spec.gain_unit == "adu_per_kev":
        return gain
    with np.errstate(over="ignore", invalid="ignore"):  # not finite: no valid calibration
        return (gain.astype(np.float64) / spec.photon_energy_kev).astype(np.float32)


def _calibration_file(entry: str | Sequence[str], module: int) -> tuple[str, int] | None:
    """Return file and module if the entry names a calibration file, otherwise None."""
    split = split_reference(entry) if isinstance(entry, str) else None
    return None if split is None else (split[0], module if split[1] is None else split[1])


def _sets(
    entry: str | Sequence[str], module: int, key: str, known: tuple[str, Sequence[int]], shape: tuple[int, int]
) -> NDArray[np.float32]:
    """Return the maps [3][height][width] of the mode's gains, or [cells][3][height][width]. `known`: mode and storage cells. Gains may have one set
    for all cells."""
    mode, cells = known
    if isinstance(entry, str):
        sets = [(len(cells),), ()] if cells and key == "gain" else [(len(cells),)] if cells else [()]
        wanted = [(*one, planes, *shape) for one in sets for planes in _planes(mode, key)]
        found = _first_map(entry, module, key, wanted)
        return _of_high_gain(found) if mode == _HIGH_GAIN else found
    if mode == _HIGH_GAIN or (cells and key == "pedestal"):
        raise _native.FileError(
            f"calibration: {', '.join(entry)}: a file for each gain has neither high gain nor storage cells; give one file of all"
        )
    if len(entry) != 3:
        raise _native.FileError(f"calibration: {', '.join(entry)}: {len(entry)} files; give one for each of G0, G1, G2")
    return np.stack([load_map(name, np.dtype("<f4"), shape) for name in entry])


def _planes(mode: str, key: str) -> tuple[int, ...]:
    """Return the allowed numbers of planes of a map. In high-gain mode, maps have planes of their own."""
    if mode != _HIGH_GAIN:
        return (3,)
    return (6, 4) if key == "gain" else (6, 4, 3)


def _first_map(entry: str, module: int, key: str, shapes: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
    """Return the map in the first of `shapes` that fits the file. When none fits, raise the FileError for the first shape."""
    refused: _native.FileError | None = None
    for shape in shapes:
        try:
            return _map_of(entry, module, key, np.dtype("<f4"), shape)
        except _native.FileError as error:
            refused = refused or error
    raise refused or _native.FileError(f"calibration: {entry}: has no {key}; name a file that has it")


def _of_high_gain(maps: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the planes [...][3][height][width] of HG0, HG1, HG2. Of 6 planes they are the last 3; of 4 planes the last is HG0, and the others become
    NaN; 3 planes stay as they are."""
    planes = maps.shape[-3]
    if planes == 6:
        return np.ascontiguousarray(maps[..., 3:, :, :])
    if planes == 4:
        made = np.full((*maps.shape[:-3], 3, *maps.shape[-2:]), np.nan, np.float32)
        made[..., 0, :, :] = maps[..., 3, :, :]
        return made
    return maps


def _in_mode(gain: NDArray[np.float32], mode: str) -> NDArray[np.float32]:
    """Return the gain with NaN for the gain stages that the mode does not use, so that their words are masked."""
    only = _ONLY_STAGE.get(mode)
    if only is None:
        return gain
    made = np.full_like(gain, np.nan)
    made[..., only, :, :] = gain[..., only, :, :]
    return made


def _map_of(reference: str, module: int, key: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array `key` of the module from a calibration file, or the only array of any other file."""
    found = _calibration_file(reference, module)
    if found is None:
        return load_map(reference, dtype, shape)
    from rashpa.data.datasets.calibration_file import (
        CalibrationFileError,
        read_map,
    )  # HDF5, only where there are such files

    name, number = found
    try:
        array = read_map(Path(name), number, key, shape)
    except (OSError, CalibrationFileError) as error:
        said = reason(error) if isinstance(error, OSError) else str(error)
        raise _native.FileError(f"calibration: {name}: {said}; `rashpa calibrate pedestal` makes such a file") from None
    if array is None:
        raise _native.FileError(
            f"calibration: {name}: module{number} has no {key}; name it in [detector.calibration] {key}"
        )
    try:
        return cast_exactly(array, dtype)
    except ValueError as error:
        raise _native.FileError(f"calibration: {name}: module{number} {key}: {error}; calibrate again") from None


def load_map(reference: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array of `shape` that `reference` names, from any file that holds one (array_file.py). Other number types are converted if no value
    changes, except for rounding of floats; headerless bytes are `dtype`. Raise FileError."""
    try:
        return cast_exactly(read_array_file(reference, dtype, shape), dtype)
    except OSError as error:
        raise _native.FileError(f"calibration: {reference}: {reason(error)}; give a file that can be read") from None
    except ValueError as error:
        said = str(error).removeprefix(f"{reference}: ")
        raise _native.FileError(
            advised(f"calibration: {reference}: {said}", "make the file again, or copy it again")
        ) from None


def to_photons(raw: NDArray[np.uint16], calibration: Calibration, energy_kev: float) -> NDArray[np.float32]:
    """Return the photons of one raw frame, not rounded: NaN where masked, inf for an overflow. This is the plain reference of the kernel `jungfrau`,
    and its README has the table."""
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
