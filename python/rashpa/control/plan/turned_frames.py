# SPDX-License-Identifier: Apache-2.0
"""Computes the memory that emulators need for rotated modules: a copy of all different frames for each module and orientation."""

from pathlib import Path

from rashpa.control.plan.checks.dataset_check import resolved_dataset
from rashpa.control.plan.emulators import PlannedEmulator
from rashpa.control.plan.model import Plan
from rashpa.control.runfile.dataset_spec import DirectorySpec, JungfrauSpec, PatternSpec
from rashpa.control.runfile.pipeline import PIXEL_BYTES
from rashpa.data.files.regular_file import json_of, read_regular
from rashpa.data.geometry.orientation import Orientation

_LINE = 64  # bytes: frames begin on cache lines
_MOST_DESCRIPTION = 64 << 20  # bytes of dataset.json


def turned_modules(plan: Plan, emulator: PlannedEmulator) -> frozenset[tuple[int, Orientation]]:
    """Return the rotated modules, with orientation, of which the emulator keeps a copy."""
    return frozenset(
        (dtp.module, dtp.orientation) for dtp in plan.dtps_from(emulator.name) if not dtp.orientation.upright
    )


def turned_bytes(plan: Plan, emulator: PlannedEmulator) -> int | None:
    """Return the bytes of the copies: 0 without any, None when the number of different frames is unknown on this machine."""
    copies = len(turned_modules(plan, emulator))
    frames = different_frames(plan, emulator) if copies else 0
    return None if frames is None else copies * frames * frame_bytes(plan)


def frame_bytes(plan: Plan) -> int:
    """Return the bytes of one frame of a module in memory."""
    detector = plan.file.detector
    return -(-detector.width * detector.height * PIXEL_BYTES[detector.pixel] // _LINE) * _LINE


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
