# SPDX-License-Identifier: Apache-2.0
"""Makes a small NXmx file like another program's, and ways to spoil it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

ROWS, COLUMNS, PITCH = 32, 64, 172e-6
CORNERS = {"a": (0.003, -0.002), "b": (-0.004, 0.001)}


def _axis(group: h5py.Group, name: str, value: float, vector: list[float], beneath: str, offset: list[float]) -> None:
    group[name] = value
    group[name].attrs.update(
        units="mm",
        transformation_type="translation",
        vector=vector,
        depends_on=beneath,
        offset=offset,
        offset_units="m",
    )


def foreign(path: Path, change: Callable[[h5py.File], None] | None = None) -> Path:
    """Write a file as another program may: lengths in mm, two modules with rows upwards and columns to the left. Then call `change` with it."""
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry")
        entry["start_time"], entry["end_time"] = "2025-03-01T10:00:00Z", "2025-03-01T10:00:09Z"
        entry["data/data"] = np.arange(4 * ROWS * COLUMNS, dtype=np.uint16).reshape(4, ROWS, COLUMNS) % 1000
        entry["sample/name"] = "thaumatin"
        entry["instrument/beam/incident_wavelength"] = 0.13776
        entry["instrument/beam/incident_wavelength"].attrs["units"] = "nm"
        detector = entry.create_group("instrument/detector")
        numbers = {
            "distance": 250.0,
            "x_pixel_size": 0.172,
            "sensor_thickness": 1.0,
            "count_time": 2.0,
            "frame_time": 5.0,
        }
        for name, value in numbers.items():
            detector[name] = value
            detector[name].attrs["units"] = "ms" if name.endswith("time") else "mm"
        detector["sensor_material"] = "CdTe"
        detector["beam_center_x"], detector["beam_center_y"] = 11.5, 7.25
        detector["saturation_value"] = 900
        mask = np.zeros((ROWS, COLUMNS), np.uint32)
        mask[3, 4], mask[10, :] = 2, 1 << 8
        detector["pixel_mask"] = mask
        _axis(detector, "transformations/distance", 250.0, [0, 0, 2], ".", [0, 0, 0])
        for number, (name, corner) in enumerate(CORNERS.items()):
            module = detector.create_group(f"module_{name}")
            module.attrs["NX_class"] = "NXdetector_module"
            module["data_origin"], module["data_size"] = [0, 32 * number], [ROWS, 32]
            at = f"/entry/instrument/detector/module_{name}/module_offset"
            _axis(
                module,
                "module_offset",
                0.0,
                [1, 0, 0],
                "/entry/instrument/detector/transformations/distance",
                [*corner, 0.0],
            )
            _axis(module, "fast_pixel_direction", 0.172, [0, 1, 0], at, [0, 0, 0])
            _axis(module, "slow_pixel_direction", 0.172, [1, 0, 0], at, [0, 0, 0])
        if change is not None:
            change(file)
    return path


def put(path: str, value: Any, **attributes: Any) -> Callable[[h5py.File], None]:
    """Return a function that replaces `path` of a file by `value`."""

    def change(file: h5py.File) -> None:
        if path in file:
            del file[path]
        file[path] = value
        file[path].attrs.update(attributes)

    return change
