# SPDX-License-Identifier: Apache-2.0
"""Compares the geometry files of kernels with the run file's description of the experiment."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from rashpa.control.plan.model import Plan
from rashpa.control.plan.reduction import bins_of
from rashpa.control.runfile.kernels import files_of
from rashpa.data.files.file_names import located

_SAME = {"distance_m": 1e-2, "energy_kev": 1e-3, "pixel_size_m": 1e-3}
"""Relative, by key of [detector]: digits that people leave out; a distance is refined."""


def kernel_geometry_cautions(plan: Plan) -> Iterator[str]:
    """Yield a line for each value in a file of this machine that differs from the run file or its dataset. Other checks report unreadable files."""
    detector = plan.file.detector
    nodes = {receiver.name: receiver.node for receiver in plan.receivers}
    for number, buffer in enumerate(plan.buffers):
        if nodes[buffer.receiver] != "local":
            continue
        for position, kernel in enumerate(buffer.section.kernel):
            for parameter, name in files_of(kernel).items():
                if parameter not in ("poni", "geometry"):
                    continue
                path = located(name, plan.source.path.resolve().parent)
                for key, value in _said_by(parameter, path).items():
                    own = getattr(detector, key) * (bins_of(buffer.section)[0] if key == "pixel_size_m" else 1)
                    if key not in detector.model_fields_set or math.isclose(own, value, rel_tol=_SAME[key]):
                        continue
                    where = plan.source.where(("buffer", number, "kernel", position, parameter))
                    yield (
                        f"{where}: {Path(path).name} has {key} {value:.6g}, and [detector] {own:.6g}; the kernel takes that of its file, and files say the other: "
                        "mend one of both"
                    )


def _said_by(parameter: str, path: str) -> Mapping[str, float]:
    """Return the values of a file by key of [detector]; empty for an unreadable file."""
    try:
        if parameter == "poni":
            from rashpa.data.geometry.geometry import poni_experiment  # NumPy, for runs that have such a file

            return poni_experiment(parameter, path)
        from rashpa.data.geometry.crystfel_geometry import read_experiment

        return read_experiment(parameter, path).said()
    except (OSError, ValueError):
        return {}
