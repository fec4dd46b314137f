# SPDX-License-Identifier: Apache-2.0
"""Computes the pixels: each follows from seed, module, frame, row and column, and so does every image that a file should have."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.chaos.plan import Buffer, Pixel, Plan

Array = NDArray[Any]
# What a lost pixel holds: the largest value of unsigned types, the smallest of signed ones, NaN. No frame contains it.
LOST: dict[Pixel, float] = {
    "uint8": 0xFF,
    "uint16": 0xFFFF,
    "uint32": 0xFFFFFFFF,
    "int16": -0x8000,
    "int32": -0x80000000,
    "float32": float("nan"),
}


def hashed(plan: Plan, module: int, frame: int, salt: int = 0) -> NDArray[np.uint64]:
    """Return 64 random bits for each pixel, [height][width]."""
    rows = np.arange(plan.height, dtype=np.uint64)[:, None]
    columns = np.arange(plan.width, dtype=np.uint64)[None, :]
    start = (plan.seed * 1_000_003 + plan.number) * 1_000_003 + (module * 4099 + frame) * 31 + salt
    value: NDArray[np.uint64] = rows * np.uint64(0x9E3779B97F4A7C15) + columns * np.uint64(0xC2B2AE3D27D4EB4F)
    value += np.uint64(start * 0x165667B19E3779F9 % 2**64)
    for shift, factor in ((32, 0xD6E8FEB86659FD93), (29, 0xA0761D6478BD642F), (32, 0xE7037ED1A0B428DB)):
        value ^= value >> np.uint64(shift)
        value *= np.uint64(factor)
    value ^= value >> np.uint64(31)
    return value


def module_frame(plan: Plan, module: int, frame: int) -> Array:
    """Return the dataset's frame for a frame number; frames repeat."""
    value = hashed(plan, module, frame % plan.dataset_frames)
    return words(value) if plan.jungfrau else plain(value, plan.pixel)


def plain(value: NDArray[np.uint64], pixel: Pixel) -> Array:
    """Return values over the whole range of the type, except the value that marks a lost pixel."""
    if pixel == "float32":
        return (value % np.uint64(1 << 24)).astype(np.float32) - np.float32(12345.0)
    dtype = np.dtype(pixel)
    span = np.uint64((1 << (8 * dtype.itemsize)) - 1)
    shift = 0 if dtype.kind == "u" else int(span // np.uint64(2))  # the smallest one is left out
    return ((value % span).astype(np.int64) - shift).astype(dtype)


def words(value: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return JUNGFRAU words: mostly G0, some G1 and G2, and a few illegal, saturated and broken ones."""
    adu = (value % np.uint64(0x4000)).astype(np.uint16)
    choice = (value >> np.uint64(20)) % np.uint64(64)
    code = np.select([choice < 50, choice < 56, choice < 62], [0, 1, 3], 0).astype(np.uint16)
    result = adu | (code << np.uint16(14))
    special = np.array([0xC000, 0x4000, 0x8123, 0x8000], np.uint16)
    result = np.where(choice >= 62, special[((value >> np.uint64(40)) % np.uint64(4)).astype(np.intp)], result)
    return np.where(result == 0xFFFF, np.uint16(0xFFFE), result).astype(np.uint16)  # the mark of a lost pixel


def write_dataset(plan: Plan, folder: Path) -> list[list[str]]:
    """Write the frames as recorded files; return the file names of each module, relative to `folder`."""
    names = []
    for module in range(len(plan.modules)):
        frames = np.stack([module_frame(plan, module, frame) for frame in range(plan.dataset_frames)])
        names.append(_write_module(plan, folder, module, frames))
    return names


def _write_module(plan: Plan, folder: Path, module: int, frames: Array) -> list[str]:
    if plan.stored_as == "npy":
        np.save(folder / f"frames{module}.npy", frames)
        return [f"frames{module}.npy"]
    half = len(frames) // 2
    for number, part in enumerate((frames[:half], frames[half:])):
        with (folder / f"frames{module}_{number}.bin").open("wb") as file:
            for frame in part:
                file.write(b"\xa5" * plan.header_bytes + frame.tobytes())
    return [f"frames{module}_0.bin", f"frames{module}_1.bin"]


def is_dark(plan: Plan, frame: int) -> bool:
    """Return True when the dataset flags this frame as dark."""
    return plan.dark_every > 0 and frame % plan.dataset_frames % plan.dark_every == 0


def coverage(buffer: Buffer) -> NDArray[np.int64]:
    """Return the module of each pixel of a buffer's image, -1 in gaps."""
    result = np.full((buffer.height, buffer.width), -1, np.int64)
    for piece in buffer.pieces:
        result[piece.y : piece.y + piece.part.height, piece.x : piece.x + piece.part.width] = piece.module
    return result


def assemble(buffer: Buffer, parts: dict[int, Array], gap: float) -> Array:
    """Return a buffer's image from arrays of whole modules, with rows and columns as last two axes."""
    first = next(iter(parts.values()))
    result = np.full((*first.shape[:-2], buffer.height, buffer.width), gap, first.dtype)
    for piece in buffer.pieces:
        part = piece.part
        source = parts[piece.module][..., part.y : part.y + part.height, part.x : part.x + part.width]
        result[..., piece.y : piece.y + part.height, piece.x : piece.x + part.width] = source
    return result


def raw_image(plan: Plan, buffer: Buffer, frame: int) -> Array:
    """Return the image that a buffer must hold of a frame; gaps are 0."""
    modules = sorted({piece.module for piece in buffer.pieces})
    return assemble(buffer, {module: module_frame(plan, module, frame) for module in modules}, 0)
