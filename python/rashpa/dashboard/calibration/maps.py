# SPDX-License-Identifier: Apache-2.0
"""Draws pedestal and gain of one module as small pictures, with their files and the files' age."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rashpa.control.plan.checks.dataset_check import resolved_calibration, resolved_dataset
from rashpa.control.plan.model import Plan
from rashpa.control.runfile.kernels import Kernel, declaration, parameters_of
from rashpa.data.base.rashpa_error import RashpaError

if TYPE_CHECKING:
    from rashpa.data.datasets.calibration import Calibration

_SIDE = 320
_GAINS = ("G0", "G1", "G2")
_HOUR_S, _DAY_S = 3600.0, 86400.0


class CalibrationError(RashpaError, ValueError):
    """Reports that there is no calibration to show; the text gives the reason."""


@dataclass(frozen=True)
class Fact:
    """Holds a fact of the maps, as text."""

    name: str
    text: str


@dataclass(frozen=True)
class Shown:
    """Holds a picture: a PNG in base64, and its description."""

    png: str
    text: str


def shown_calibration(plan: Plan, module: int, now: datetime) -> tuple[list[Fact], list[Shown]]:
    """Return the facts and the pictures of a module's maps, read from the files of this machine. Raise CalibrationError."""
    named = [kernel for buffer in plan.buffers for kernel in buffer.section.kernel]
    using = [kernel for kernel in named if declaration(kernel.name).calibration]
    if not using:
        raise CalibrationError("no kernel of this run uses a calibration")
    if any(receiver.node != "local" for receiver in plan.receivers):
        raise CalibrationError("receivers on other machines read its files there; open them there")
    # the native module and HDF5, for which no page waits that shows no calibration
    from rashpa.data.datasets.calibration import load_calibration
    from rashpa.data.datasets.datasets import calibration_from_spec
    from rashpa.node.engine.calibration import Maps
    from rashpa.node.engine.provenance import calibration_facts

    detector = plan.file.detector
    spec = resolved_calibration(plan.file, plan.source, "local")
    dataset = resolved_dataset(plan.file, plan.source, "local")
    try:
        if spec is not None:
            found = load_calibration(spec, detector.height, detector.width, len(detector.module))
        else:
            found = calibration_from_spec(dataset, Path.cwd(), detector.height, detector.width)
        if not 0 <= module < len(found):
            raise CalibrationError(f"module {module} has none; there are {len(found)}")
        every = [Maps(one.pedestal, one.gain, one.mask, one.rms) for one in found[: module + 1]]
        known = calibration_facts(spec or dataset, every)[-3:]
    except (OSError, RuntimeError, ValueError) as error:  # of files, of the native reader, of the section
        raise CalibrationError(str(error)) from None
    facts = [Fact(one.kind, _words(one.file, one.version, one.date, now)) for one in known]
    facts += _drift(using)
    return facts, list(_pictures(found[module], module))


def _words(file: str, version: str, date: str, now: datetime) -> str:
    """Return the origin of a map: its file with its version, and its age."""
    named = f"{file}, version {version}" if version else file
    if not date:
        when = _file_time(file)
        return f"{named}, changed {age_of(when, now)} ago" if when is not None else named
    try:
        made = datetime.fromisoformat(date)
    except ValueError:
        return f"{named}, made {date}"
    return f"{named}, made {age_of(made if made.tzinfo else made.replace(tzinfo=UTC), now)} ago"


def _file_time(file: str) -> datetime | None:
    """Return the time when a file was changed, None when there is no single file."""
    try:
        return datetime.fromtimestamp(Path(file.partition("::")[0]).stat().st_mtime, UTC)
    except OSError:
        return None


def age_of(made: datetime, now: datetime) -> str:
    """Return an age in a suitable unit, as text."""
    seconds = max(0.0, (now - made).total_seconds())
    if seconds >= 2 * _DAY_S:
        return f"{seconds / _DAY_S:.0f} days"
    return f"{seconds / _HOUR_S:.1f} h" if seconds >= _HOUR_S else f"{seconds / 60:.0f} min"


def _drift(kernels: Sequence[Kernel]) -> Iterator[Fact]:
    """Yield facts on how far dark images have shifted the pedestals."""
    for kernel in kernels:
        if parameters_of(kernel).get("track", "off") != "off":
            yield Fact("drift", "pedestals follow dark images; Curves shows pedestal_drift and pedestal_drift_worst")


def _pictures(maps: "Calibration", module: int) -> Iterator[Shown]:
    from rashpa.data.figures.picture import reduced

    masked = (maps.mask & 0xFFFF) != 0
    for name, values, unit in (("pedestal", maps.pedestal, "ADU"), ("gain", maps.gain, "ADU/keV")):
        planes = values.reshape(-1, *masked.shape)  # set after set, where there are storage cells
        for plane, of_gain in enumerate(planes):
            label = _GAINS[plane % len(_GAINS)]
            if len(planes) > len(_GAINS):
                label += f" storage cell {maps.cells[plane // len(_GAINS)]}"
            shown = np.where(masked, np.nan, of_gain.astype(np.float64))
            known = shown[np.isfinite(shown)]
            if not known.size:
                continue
            drawn = replace(reduced(shown, _SIDE, unit), linear=True)
            low, middle, high = np.percentile(known, (1, 50, 99))
            spread = f"median {middle:.4g} {unit}, {low:.4g} to {high:.4g} for 98 % of the pixels"
            text = f"{name} {label} of module {module}: {spread}"
            yield Shown(base64.b64encode(drawn.png()).decode("ascii"), text)
