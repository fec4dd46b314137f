# SPDX-License-Identifier: Apache-2.0
"""Warns, before a run starts, of calibration files that are old, or belong to another detector."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rashpa.control.plan.checks.dataset_check import resolved_calibration
from rashpa.control.plan.model import Plan
from rashpa.data.datasets.calibration_reference import split_reference
from rashpa.data.datasets.calibration_spec import CalibrationSpec

if TYPE_CHECKING:
    from rashpa.data.datasets.calibration_file import CalibrationFacts


def calibration_warnings(plan: Plan, now: datetime) -> Iterator[str]:
    """Yield a line for each warning, with the place in the run file. Only files of this machine are checked; other checks report an unusable file."""
    spec = resolved_calibration(plan.file, plan.source, "local")
    if spec is None:
        return
    from rashpa.data.datasets.calibration_file import (  # HDF5, for the runs that have such files
        CalibrationFileError,
        read_facts,
    )

    where = plan.source.where(("detector", "calibration"))
    for module, entry in enumerate(spec.pedestal):
        split = split_reference(entry) if isinstance(entry, str) else None
        if split is None:
            continue
        try:
            facts = read_facts(Path(split[0]))
        except (OSError, CalibrationFileError):
            continue
        number = module if split[1] is None else split[1]
        for text in _of_file(plan, spec, facts, module, number, now):
            yield f"{where}: {split[0]}: {text}"


def _of_file(
    plan: Plan, spec: CalibrationSpec, facts: "CalibrationFacts", module: int, number: int, now: datetime
) -> Iterator[str]:
    age = facts.age_days(now)
    if age is None:
        yield f"its date cannot be read: {facts.date!r}; calibrate again"
    elif spec.oldest_days and age > spec.oldest_days:
        yield f"it was made {age:.0f} days ago ({facts.date}), oldest_days is {spec.oldest_days:g}; calibrate again"
    elif age < -1:
        yield f"it was made in the future ({facts.date}); check the clocks"
    detector = plan.file.detector.name
    if facts.detector != detector:
        yield f"it is of detector {facts.detector!r}, [detector] name is {detector!r}"
    if module < len(spec.serial) and facts.serials.get(number, "") != spec.serial[module]:
        yield (
            f"its module {number} has serial number {facts.serials.get(number, '') or 'unknown'!r}, module {module} of the run file "
            f"{spec.serial[module]!r}"
        )
