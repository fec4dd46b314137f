# SPDX-License-Identifier: Apache-2.0
"""Computes the memory that emulators need for rotated modules, a copy of all different frames for each module and orientation, and for reduced frames."""

from pathlib import Path

from rashpa.control.plan.checks.dataset_check import resolved_dataset
from rashpa.control.plan.emulators import PlannedEmulator
from rashpa.control.plan.model import Plan
from rashpa.control.plan.rectangle import Rectangle
from rashpa.control.runfile.dataset_spec import DirectorySpec, JungfrauSpec, PatternSpec
from rashpa.control.runfile.pipeline import PIXEL_BYTES
from rashpa.data.files.regular_file import json_of, read_regular
from rashpa.data.geometry.orientation import Orientation

_LINE = 64  # bytes: frames begin on cache lines
_MOST_DESCRIPTION = 64 << 20  # bytes of dataset.json


def turned_modules(plan: Plan, emulator: PlannedEmulator) -> frozenset[tuple[int, Orientation]]:
    """Return the rotated modules, with orientation, of which the emulator keeps a copy."""
    return frozenset(
        (dtp.module, dtp.orientation)
        for dtp in plan.dtps_from(emulator.name)
        if not dtp.orientation.upright and plan.buffer_of(dtp.id).section.reduction is None
    )


def reduced_regions(plan: Plan, emulator: PlannedEmulator) -> frozenset[tuple[int, Orientation, Rectangle, str]]:
    """Return the regions of modules, with orientation and reduction, of which the emulator keeps the reduced frames."""
    found = ((dtp, plan.buffer_of(dtp.id).section.reduction) for dtp in plan.dtps_from(emulator.name))
    return frozenset(
        (dtp.module, dtp.orientation, dtp.target, f"{dtp.region} {reduction.model_dump_json()}")
        for dtp, reduction in found
        if reduction is not None
    )


def reduced_bytes(plan: Plan, emulator: PlannedEmulator) -> int | None:
    """Return the bytes of reduced frames: 0 without any, None when the number of different frames is unknown on this machine."""
    regions = reduced_regions(plan, emulator)
    frames = different_frames(plan, emulator) if regions else 0
    pixel = PIXEL_BYTES[plan.file.detector.pixel]
    return None if frames is None else frames * sum(_lines(one.width * one.height * pixel) for _, _, one, _ in regions)


def turned_bytes(plan: Plan, emulator: PlannedEmulator) -> int | None:
    """Return the bytes of the copies: 0 without any, None when the number of different frames is unknown on this machine."""
    copies = len(turned_modules(plan, emulator))
    frames = different_frames(plan, emulator) if copies else 0
    return None if frames is None else copies * frames * frame_bytes(plan)


def frame_bytes(plan: Plan) -> int:
    """Return the bytes of one frame of a module in memory."""
    detector = plan.file.detector
    return _lines(detector.width * detector.height * PIXEL_BYTES[detector.pixel])


def _lines(size: int) -> int:
    """Return the bytes of the cache lines of a frame."""
    return -(-size // _LINE) * _LINE


def different_frames(plan: Plan, emulator: PlannedEmulator) -> int | None:
    """Return the number of frames in the dataset, None when this machine cannot know it."""
    spec = resolved_dataset(plan.file, plan.source, emulator.node)
    if isinstance(spec, JungfrauSpec | PatternSpec):
        return spec.frames
    if not isinstance(spec, DirectorySpec) or emulator.node != "local":
        return None
    try:
        said = json_of(read_regular(Path(spec.path) / "dataset.json", _MOST_DESCRIPTION))["frames"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return said if isinstance(said, int) and said > 0 else None
