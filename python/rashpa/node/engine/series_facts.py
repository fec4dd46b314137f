# SPDX-License-Identifier: Apache-2.0
"""Writes the detector's own description of a series, the start message of its stream, into the master of a run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.control.runfile.run_file import Detector
from rashpa.data.files.bounded_cbor import CborError, loads_cbor
from rashpa.data.parts.made_hdf5 import made_hdf5
from rashpa.data.stream.stream1 import read_start
from rashpa.data.stream.stream2 import Message, PackedArray, Start, StreamError, read_message, text_of

_DETECTOR = "entry/instrument/detector"
_BEAM = "entry/instrument/beam"
_NUMBERS = {"count_time": "count_time", "frame_time": "frame_time", "sensor_thickness": "sensor_thickness"}
"""A number of the start, and its place in the detector's group: written where the run file has no value of its own. Beam and size of pixels are those of the run
file in any case: the places of modules are made from them."""
_KEYS = {"count_time": "count_time_s", "sensor_thickness": "sensor_thickness_m", "distance": "distance_m"}
"""Keys of [detector] with a default, by their place in the file."""
_FLAGS = {
    "countrate_correction_enabled": "countrate_correction_applied",
    "flatfield_enabled": "flatfield_applied",
    "virtual_pixel_interpolation_enabled": "virtual_pixel_interpolation_applied",
}
_MOST_TEXT = 1 << 20
_ARRAY = 4  # of CBOR's kinds
_EV_ANGSTROM = 12398.419843320026


def starts_of(descriptions: Sequence[bytes]) -> list[Start]:
    """Return the start messages among the descriptions of sources. Leave out those that cannot be read; without cbor2, return none."""
    found = []
    for one in descriptions:
        try:
            message = _start_of(one)
        except (CborError, StreamError, ImportError):
            continue
        if isinstance(message, Start):
            found.append(message)
    return found


def _start_of(description: bytes) -> Message:
    """Read a message of version 2, which is a map, or the frames of a start of version 1, an array unless there is one alone. Raise CborError or StreamError."""
    if description[:1] == b"{":
        return read_start([description])
    if description[:1] and description[0] >> 5 == _ARRAY:
        frames = loads_cbor(description)
        if not all(isinstance(frame, bytes) for frame in frames):
            raise StreamError("no frames of a start; correct the sender")
        return read_start(frames)
    return read_message(description)


def write_series(master: Path, start: Start, module: int) -> None:
    """Write the facts of the start message for the channel of this module. Keep values that the run file gives. Raise OSError or ValueError."""
    channel = start.channels[module] if module < len(start.channels) else ""
    with made_hdf5(master, master) as file:
        detector = file[_DETECTOR]
        for said, name in _NUMBERS.items():
            if start.has_number(said):
                _fill(detector, name, start.number(said))
        _write_beam(file, start)
        _write_distance(detector, start)
        mask, flatfield = (_array_of(read, channel) for read in (start.mask, start.flatfield))
        shape = detector["pixel_mask"].shape
        if mask is not None and mask.shape == shape:
            _add_to_mask(detector["pixel_mask"], mask)
        threshold = start.of_channel("threshold_energy", channel)
        fits = flatfield is not None and flatfield.shape == shape
        write_detector(file, start, threshold, flatfield if fits else None)


def write_detector(
    file: h5py.File, start: Start, threshold_ev: float | None, flatfield: NDArray[np.float32] | None
) -> None:
    """Write facts of the detector that only its start message gives, and the message itself as JSON. Raise OSError or ValueError."""
    detector = file[_DETECTOR]
    if serial := start.text("detector_serial_number"):
        _put(detector, "serial_number", serial)
    if threshold_ev is not None:
        _put(detector, "threshold_energy", threshold_ev)
        detector["threshold_energy"].attrs["units"] = "eV"
    if flatfield is not None:
        if "flatfield" in detector:
            del detector["flatfield"]
        detector.create_dataset("flatfield", data=flatfield, compression="gzip", shuffle=True)
    for said, name in _FLAGS.items():
        if isinstance(start.fields.get(said), bool):
            _put(detector, name, np.int8(start.fields[said]))
    table = start.table("countrate_correction_lookup_table")
    if table is not None:
        _put(detector, "countrate_correction_lookup_table", table)
    text = json.dumps(plain_of(start.fields), ensure_ascii=False)
    file["entry/rashpa"].create_dataset("stream_start", data=text if len(text) <= _MOST_TEXT else "")


def _standard(key: str) -> float:
    """Return the default of a key of the table [detector]."""
    return float(Detector.model_fields[key].default)


def _is_open(value: float, standard: float) -> bool:
    """Return True for a number that the run file has not set."""
    return not value or not math.isfinite(value) or math.isclose(value, standard, rel_tol=1e-6)


def _fill(group: h5py.Group, name: str, value: float, *places: str) -> None:
    """Set a number in all `places` unless the run file has set it."""
    standard = _standard(_KEYS[name]) if name in _KEYS else 0.0
    if name in group and group[name].shape == () and _is_open(float(group[name][()]), standard):
        for place in (name, *places):
            group[place][()] = value


def _put(group: h5py.Group, name: str, value: Any) -> None:
    if name in group:
        del group[name]
    group[name] = value


def _write_beam(file: h5py.File, start: Start) -> None:
    wavelength, energy = start.number("incident_wavelength"), start.number("incident_energy")
    if wavelength <= 0 < energy:
        wavelength = _EV_ANGSTROM / energy
    beam = file.get(_BEAM)
    standard = _EV_ANGSTROM / (1e3 * _standard("energy_kev"))
    if beam is None or wavelength <= 0 or not _is_open(float(beam["incident_wavelength"][()]), standard):
        return
    beam["incident_wavelength"][()] = wavelength
    if "incident_energy" in beam:
        beam["incident_energy"][()] = _EV_ANGSTROM / wavelength


def _write_distance(detector: h5py.Group, start: Start) -> None:
    said = start.fields.get("detector_translation")
    if isinstance(said, list | tuple) and len(said) == 3 and isinstance(said[2], int | float):
        distance = float(said[2])
        if math.isfinite(distance) and distance > 0:
            _fill(detector, "distance", distance, "transformations/translation")


def _array_of(read: Callable[[str], NDArray[Any] | None], channel: str) -> NDArray[Any] | None:
    try:
        return read(channel)
    except StreamError:
        return None


def _add_to_mask(stored: h5py.Dataset, mask: NDArray[np.uint32]) -> None:
    """Add bits to the stored mask, which is one chunk compressed with bitshuffle and LZ4."""
    codec = _native.BitshuffleLz4(4)
    _, chunk = stored.id.read_direct_chunk((0, 0))
    bits = np.zeros(mask.shape, np.uint32)
    if not codec.decompress(np.frombuffer(chunk, np.uint8), bits.reshape(-1).view(np.uint8)):
        raise ValueError("pixel_mask cannot be read")
    bits |= mask
    room = np.empty(codec.bound(bits.nbytes, 4), np.uint8)
    size = codec.compress(bits.reshape(-1).view(np.uint8), room)
    stored.id.write_direct_chunk((0, 0), room[:size].tobytes())


def plain_of(value: Any) -> Any:
    """Return a message's value in a form for JSON: a word in place of arrays and other tags, the number of bytes in place of bytes."""
    if isinstance(value, Mapping):
        return {text_of(str(name), 256): plain_of(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_of(one) for one in value]
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, PackedArray):
        return f"array of {value.shape[1]} x {value.shape[0]} {value.dtype.name}"
    tag = getattr(value, "tag", None)
    return str(value) if tag is None else f"tag {tag}"


def write_all(descriptions: Sequence[bytes], masters: Sequence[tuple[str, int]]) -> Iterator[str]:
    """Write the first start message into the masters, each with the number of its module. Yield a text for each fact that could not be written."""
    starts = starts_of(descriptions)
    if not starts:
        return
    for number, (master, module) in enumerate(masters):
        start = starts[0] if len(starts) == 1 else starts[min(number, len(starts) - 1)]
        if not master or not Path(master).is_file():
            continue
        try:
            write_series(Path(master), start, module)
        except (OSError, LookupError, RuntimeError, ValueError, TypeError) as error:
            yield f"{master}: what the detector says of its series could not be added ({error})"
