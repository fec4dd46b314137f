# SPDX-License-Identifier: Apache-2.0
"""Decodes start messages of EIGER's Stream V1 (frames of JSON and of bytes) into those of Stream V2. They are not trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rashpa.data.stream.stream2 import MOST_PIXELS, PackedArray, Start, StreamError, text_of

CHANNEL = "threshold_1"
"""The one channel of a series of this version, which has no names for channels."""
_MOST_JSON_BYTES = 1 << 20
_NAMES = {
    "beam_center_x": "beam_center_x",
    "beam_center_y": "beam_center_y",
    "count_time": "count_time",
    "countrate_correction_applied": "countrate_correction_enabled",
    "countrate_correction_count_cutoff": "saturation_value",
    "data_collection_date": "arm_date",
    "description": "detector_description",
    "detector_number": "detector_serial_number",
    "flatfield_correction_applied": "flatfield_enabled",
    "frame_time": "frame_time",
    "photon_energy": "incident_energy",
    "pixel_mask_applied": "pixel_mask_enabled",
    "sensor_material": "sensor_material",
    "sensor_thickness": "sensor_thickness",
    "threshold_energy": "threshold_energy",
    "virtual_pixel_correction_applied": "virtual_pixel_interpolation_enabled",
    "wavelength": "incident_wavelength",
    "x_pixel_size": "pixel_size_x",
    "x_pixels_in_detector": "image_size_x",
    "y_pixel_size": "pixel_size_y",
    "y_pixels_in_detector": "image_size_y",
}
"""A word of the description, and that of Stream V2 with the same meaning."""
_FLAGS = tuple(name for name in _NAMES.values() if name.endswith("_enabled"))
_ARRAYS: Mapping[str, tuple[str, str]] = {
    "dflatfield-1.": ("flatfield", "float32"),
    "dpixelmask-1.": ("pixel_mask", "uint32"),
}


def read_start(frames: Sequence[bytes]) -> Start:
    """Decode the frames of a start message (header_detail none, basic or all). Raise StreamError when they are no start message, or damaged."""
    head = _object(frames[0] if frames else b"")
    series = head.get("series")
    if not text_of(head.get("htype")).startswith("dheader-1.") or type(series) is not int or series < 0:
        raise StreamError("no start of a series (dheader-1); correct the sender")
    about = _object(frames[1]) if len(frames) > 1 else {}
    fields = {new: about[old] for old, new in _NAMES.items() if about.get(old) is not None}
    fields |= {name: bool(fields[name]) for name in _FLAGS if name in fields}
    if (away := _translation(about)) is not None:
        fields["detector_translation"] = away
    place = 2
    while place + 1 < len(frames) and _is_object(frames[place]):
        said = _object(frames[place])
        kind = text_of(said.get("htype"))
        for begin, (name, dtype) in _ARRAYS.items():
            if kind.startswith(begin):
                fields[name] = {CHANNEL: _array(name, said, dtype, frames[place + 1])}
        place += 2
    if place + 1 == len(frames):
        fields["appendix"] = text_of(frames[place].decode("utf-8", "replace"))
    due = [about.get(name, 1) for name in ("nimages", "ntrigger")]
    images = (
        due[0] * due[1] if "nimages" in about and all(type(one) is int and 0 <= one < 1 << 31 for one in due) else None
    )
    fields |= {"type": "start", "series_id": series, "description_v1": about}
    return Start(series, "", {}, images, (CHANNEL,), fields)


def _is_object(frame: bytes) -> bool:
    return frame[:1] == b"{"


def _object(frame: bytes) -> dict[str, Any]:
    """Return the entries of a JSON object. Raise StreamError when the frame is no object, or too long."""
    if len(frame) > _MOST_JSON_BYTES:
        raise StreamError(f"a description of {len(frame)} bytes, {_MOST_JSON_BYTES} at most; correct the sender")
    try:
        found = json.loads(frame.rstrip(b"\0"))
    except (ValueError, RecursionError):
        raise StreamError("no JSON; correct the sender") from None
    if not isinstance(found, dict):
        raise StreamError("no object of JSON; correct the sender")
    return found


def _translation(about: Mapping[str, Any]) -> list[Any] | None:
    said = about.get("detector_translation")
    if isinstance(said, list) and len(said) == 3:
        return said
    distance = about.get("detector_distance")
    return None if distance is None else [0.0, 0.0, distance]


def _array(name: str, said: Mapping[str, Any], dtype: str, data: bytes) -> PackedArray:
    """Return the array of numbers that follows its description. The description gives the width first. Raise StreamError."""
    sides = said.get("shape")
    if said.get("type") != dtype or not isinstance(sides, list) or len(sides) != 2:
        raise StreamError(f"{name}: no array of {dtype} with two sides; correct the sender")
    columns, rows = sides
    if not all(type(side) is int and 0 < side <= MOST_PIXELS for side in sides) or columns * rows > MOST_PIXELS:
        raise StreamError(f"{name}: its sides are no two counts; correct the sender")
    kind = np.dtype(dtype).newbyteorder("<")
    if len(data) != columns * rows * kind.itemsize:
        raise StreamError(f"{name}: {len(data)} bytes for {columns} × {rows} pixels of {dtype}; correct the sender")
    return PackedArray((rows, columns), kind, "", kind.itemsize, data)
