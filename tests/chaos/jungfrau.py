# SPDX-License-Identifier: Apache-2.0
"""Converts JUNGFRAU words in double precision, from the decode table alone, with a test calibration.

The product computes in single precision: (adu - pedestal) is rounded once, the factor once, their product once. Before rounding to photons, its
result therefore differs from ours by at most 3 · 2⁻²⁴ of its value; we allow 4. When our result is that close to a half, both neighbouring photon
numbers are right.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.chaos.frames import assemble, hashed
from tests.chaos.plan import Buffer, Plan

ENERGY_KEV = 12.4
THRESHOLD = 7  # photons, of veto and csr
MASKED, SATURATED = -0x8000, 0x7FFF
_ROUNDING = 4.0 * 2.0**-24


@dataclass(frozen=True)
class Calibration:
    """Holds the maps of one module or image: pedestal and factor [3][height][width], mask [height][width]."""

    pedestal: NDArray[np.float32]
    gain: NDArray[np.float32]
    mask: NDArray[np.uint32]


@dataclass(frozen=True)
class Converted:
    """Holds the exact values, and the pixels without a value."""

    value: NDArray[np.float64]  # photons before rounding, or keV
    masked: NDArray[np.bool_]
    saturated: NDArray[np.bool_]

    @property
    def slack(self) -> NDArray[np.float64]:
        """Return the largest allowed difference due to single precision."""
        return np.abs(self.value) * _ROUNDING


def calibration(plan: Plan, module: int) -> Calibration:
    """Return a plausible calibration, with some pixels that have none: no gain, a pedestal out of range, masked."""
    value = hashed(plan, module, 0, salt=77)
    unit = (value % np.uint64(1 << 20)).astype(np.float64) / (1 << 20)
    fault = (value >> np.uint64(30)) % np.uint64(100)
    pedestal = np.stack([800 + 900 * unit, 14500 + 900 * unit, 15000 + 500 * unit]).astype(np.float32)
    gain = np.stack([38 + 4 * unit, -1.4 - 0.2 * unit, -0.1 - 0.02 * unit]).astype(np.float32)
    gain[0][fault == 1] = 0.0
    pedestal[0][fault == 2] = 16384.0
    mask = np.zeros(unit.shape, np.uint32)
    mask[fault == 3] = 1 << 1
    mask[fault == 4] = 1 << 31  # virtual pixels are measurements
    return Calibration(pedestal, gain, mask)


def write_calibration(plan: Plan, folder: Path) -> dict[str, list[str]]:
    """Write one file for each module and map; return their names relative to `folder`."""
    names: dict[str, list[str]] = {"pedestal": [], "gain": [], "mask": []}
    for module in range(len(plan.modules)):
        maps = calibration(plan, module)
        for name in names:
            np.save(folder / f"{name}{module}.npy", getattr(maps, name))
            names[name].append(f"{name}{module}.npy")
    return names


def calibration_of(plan: Plan, buffer: Buffer) -> Calibration:
    """Return the calibration in the layout of a buffer's image; gaps are masked."""
    modules = {module: calibration(plan, module) for module in range(len(plan.modules))}
    return Calibration(
        assemble(buffer, {module: maps.pedestal for module, maps in modules.items()}, 0),
        assemble(buffer, {module: maps.gain for module, maps in modules.items()}, 0),
        assemble(buffer, {module: maps.mask for module, maps in modules.items()}, 1),
    )


def convert(raw: NDArray[np.uint16], maps: Calibration, photons: bool) -> Converted:
    """Convert words by the decode table, row by row of the table."""
    code, adu = raw >> 14, (raw & 0x3FFF).astype(np.float64)
    gain_number = np.select([code == 0, code == 1, code == 3], [0, 1, 2], 0)
    pedestal = np.take_along_axis(maps.pedestal.astype(np.float64), gain_number[None], axis=0)[0]
    gain = np.take_along_axis(maps.gain.astype(np.float64), gain_number[None], axis=0)[0]
    masked = (code == 2) | (raw == 0xFFFF) | (raw == 0x4000)
    masked |= ((maps.mask & 0xFFFF) != 0) | (gain == 0.0) | ((gain_number == 0) & (pedestal > 16383))
    saturated = (raw == 0xC000) & ~masked
    divisor = np.where(gain == 0.0, 1.0, gain) * (ENERGY_KEV if photons else 1.0)
    value = (adu - pedestal) / divisor
    value[masked | saturated] = 0.0
    return Converted(value, masked, saturated)


def wrong_photons(found: NDArray[np.int16], expected: Converted) -> NDArray[np.bool_]:
    """Return True for wrong photons."""
    value = np.clip(expected.value, -32767, 32766)
    wrong = np.abs(found.astype(np.float64) - value) > 0.5 + expected.slack
    wrong[expected.masked] = found[expected.masked] != MASKED
    wrong[expected.saturated] = found[expected.saturated] != SATURATED
    return wrong


def wrong_kev(found: NDArray[np.float32], expected: Converted) -> NDArray[np.bool_]:
    """Return True for wrong energies: they must be NaN when masked, and infinite when saturated."""
    wrong = ~(np.abs(found.astype(np.float64) - expected.value) <= expected.slack)
    wrong[expected.masked] = ~np.isnan(found[expected.masked])
    wrong[expected.saturated] = ~np.isposinf(found[expected.saturated])
    return wrong


def bright_bounds(expected: Converted) -> tuple[int, int]:
    """Return the smallest and the largest number of pixels at or above the threshold that rounding allows."""
    valid = ~expected.masked & ~expected.saturated
    surely = int((valid & (expected.value - expected.slack > THRESHOLD - 0.5)).sum())
    maybe = int((valid & (expected.value + expected.slack >= THRESHOLD - 0.5)).sum())
    saturated = int(expected.saturated.sum())
    return surely + saturated, maybe + saturated
