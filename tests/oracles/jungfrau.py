# SPDX-License-Identifier: Apache-2.0
"""Oracle of the kernel `jungfrau`: conversion of one word at a time by the maker's description, places of double-size pixels, and running means in 64
bits."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

MASKED, SATURATED = -32768, 32767
CHIP = 256


@dataclass(frozen=True)
class Calibration:
    """Holds pedestal in ADU and gain in ADU/keV, [gain][row][column]; mask, and RMS of the pedestal of G0, [row][column]."""

    pedestal: NDArray[np.float32]
    gain: NDArray[np.float32]
    mask: NDArray[np.uint32]
    rms: NDArray[np.float32] | None = None


def _kept(word: int, pedestal: list[float], gain: list[float], mask: int) -> int | None:
    """Return the gain stage of a word with a value, None for a masked pixel, −1 for a saturated one."""
    if word in (0xFFFF, 0x4000):
        return None
    stage = {0: 0, 1: 1, 3: 2}.get(word >> 14)
    if stage is None or mask & 0xFFFF:
        return None
    valid = math.isfinite(gain[stage]) and gain[stage] != 0 and abs(pedestal[stage]) < 2**24
    if not valid or (stage == 0 and pedestal[0] > 16383):
        return None
    return -1 if word == 0xC000 else stage


def pixel(word: int, pedestal: list[float], gain: list[float], mask: int, energy: float | None) -> float:
    """Return photons of `energy` in keV, or keV when it is None. A masked pixel is −32768 or NaN, a saturated one 32767 or infinite."""
    stage = _kept(word, pedestal, gain, mask)
    if stage is None:
        return MASKED if energy else math.nan
    if stage < 0:
        return SATURATED if energy else math.inf
    factor = np.float32(1 / (gain[stage] * (energy or 1)))
    value = (np.float32(word & 0x3FFF) - np.float32(pedestal[stage])) * factor
    return max(-32767, min(32766, round(float(value)))) if energy else float(value)


def converted(words: NDArray[np.uint16], calibration: Calibration, energy: float | None) -> NDArray[np.float64]:
    """Return an image with every pixel converted."""
    made = np.empty(words.shape)
    for place in np.ndindex(*words.shape):
        constants = (calibration.pedestal[:, *place].tolist(), calibration.gain[:, *place].tolist())
        made[place] = pixel(int(words[place]), *constants, int(calibration.mask[place]), energy)
    return made


def _covered(pixels: int, number: int) -> list[int]:
    """Return the places in the assembled image of pixel `number` of a module's row or column: its own place, then that of its other half."""
    here = number + number // CHIP * 2
    if number % CHIP == CHIP - 1 and number != pixels - 1:
        return [here, here + 1]
    if number % CHIP == 0 and number != 0:
        return [here, here - 1]
    return [here]


def _shared(value: float, larger_first: bool, whole_numbers: bool) -> list[float]:
    if not whole_numbers:
        return [value / 2, value / 2]
    if value in (MASKED, SATURATED):
        return [value, value]
    less = math.floor(value / 2)
    return [value - less, less] if larger_first else [less, value - less]


def assembled(
    image: NDArray[np.float64],
    module: tuple[int, int],
    places: list[tuple[int, int]],
    borders: Literal["shared", "masked"],
    whole_numbers: bool,
) -> NDArray[np.float64]:
    """Return an image assembled from modules of `module` (rows, columns) with their first pixels at `places` (x, y), with space for double-size
    pixels."""
    rows, columns = module
    masked = MASKED if whole_numbers else math.nan
    height = max(y + rows + (rows - 1) // CHIP * 2 for _, y in places)
    width = max(x + columns + (columns - 1) // CHIP * 2 for x, _ in places)
    made = np.full((max(height, image.shape[0]), max(width, image.shape[1])), masked)
    for left, top in places:
        for row in range(rows):
            down = _covered(rows, row)
            for column in range(columns):
                across = _covered(columns, column)
                value = float(image[top + row, left + column])
                if borders == "masked" and (len(down) > 1 or len(across) > 1):
                    continue
                parts = _shared(value, row % 2 == 0, whole_numbers) if len(across) > 1 else [value]
                for part, x in zip(parts, across, strict=True):
                    shares = _shared(part, (left + x) % 2 == 0, whole_numbers) if len(down) > 1 else [part]
                    for share, y in zip(shares, down, strict=True):
                        made[top + y, left + x] = share
    return made


class Tracked:
    """Holds pedestals of G0 that follow dark images: the published sums, of which a part is removed for each new image."""

    def __init__(self, calibration: Calibration, images: int, sigma: float) -> None:
        assert calibration.rms is not None
        self.start, self.rms = calibration.pedestal[0].astype(float), calibration.rms.astype(float)
        self._images, self._sigma = images, sigma
        self._sum = images * self.start
        self._squares = images * (self.start**2 + self.rms**2)

    @property
    def pedestal(self) -> NDArray[np.float64]:
        """Return the present pedestals."""
        return np.asarray(self._sum / self._images)

    @property
    def _variance(self) -> NDArray[np.float64]:
        return np.asarray(self._squares / self._images - self.pedestal**2)

    def stack(self, words: list[NDArray[np.uint16]], dark: list[bool], empty: bool) -> None:
        """Follow the dark images of a stack and, with `empty`, pixels without a photon in its first other image."""
        for image, is_dark in zip(words, dark, strict=True):
            if not is_dark and not empty:
                continue
            value = image.astype(float)
            taken = image < 0x4000
            if not is_dark:
                empty = False
                taken &= np.abs(value - self.pedestal) <= self._sigma * np.sqrt(self._variance)
            variance = self._variance
            self._sum = np.where(taken, self._sum + value - self._sum / self._images, self._sum)
            if is_dark:
                squares = self._squares + value**2 - self._squares / self._images
                self._squares = np.where(taken, squares, self._squares)
            else:  # their scatter stays what it was
                self._squares = self._images * (variance + self.pedestal**2)

    def drift(self, valid: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return how far the pedestals of the valid pixels have moved, in units of RMS."""
        moved: NDArray[np.float64] = np.abs(self.pedestal - self.start)[valid] / self.rms[valid]
        return moved
