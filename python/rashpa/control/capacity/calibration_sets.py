# SPDX-License-Identifier: Apache-2.0
"""Counts the sets of pedestals of a plan: one, or one for each storage cell of the calibration."""

from functools import lru_cache
from pathlib import Path

from rashpa.control.plan.checks.dataset_check import resolved_calibration
from rashpa.control.plan.model import Plan
from rashpa.data.datasets.calibration_reference import split_reference


def sets_of(plan: Plan) -> int:
    """Return the number of sets of pedestals that each module has: those of the run file, otherwise those of the calibration file of the first
    module. Return 1 for a file that cannot be read here; the receiver reports it."""
    spec = resolved_calibration(plan.file, plan.source, "local")
    if spec is None:
        return 1
    if spec.storage_cells:
        return len(spec.storage_cells)
    split = split_reference(spec.pedestal[0]) if spec.pedestal and isinstance(spec.pedestal[0], str) else None
    if split is None:
        return 1
    path = Path(split[0])
    try:
        return _sets_in(path, split[1] or 0, path.stat().st_mtime_ns)
    except OSError:
        return 1


@lru_cache(maxsize=16)
def _sets_in(path: Path, module: int, written_ns: int) -> int:  # noqa: ARG001  another file at another time
    from rashpa.data.datasets.calibration_file import CalibrationFileError, read_cells  # HDF5, for such files alone

    try:
        return len(read_cells(path, module)) or 1
    except (OSError, CalibrationFileError):
        return 1


def map_bytes(plan: Plan) -> int:
    """Return the bytes for each pixel of the maps that a pipeline with a calibration keeps on the host: pedestals and RMS by set, gains once, mask."""
    sets = sets_of(plan)
    return 4 * (3 * sets + 3 + 1 + (sets if _has_rms(plan) else 0))


def _has_rms(plan: Plan) -> bool:
    spec = plan.file.detector.calibration
    if spec is None or spec.simulated_seed is not None:
        return True
    return all(isinstance(entry, str) and split_reference(entry) is not None for entry in spec.pedestal)
