# SPDX-License-Identifier: Apache-2.0
"""Reads the description of the experiment from a file of images: the NXmx fields that files made from it take over."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.pixel_units import KNOWN
from rashpa.data.files.file_names import is_hdf5
from rashpa.data.files.hdf5.layouts import Absence
from rashpa.data.files.hdf5.tree import Array, Group, Hdf5File
from rashpa.data.files.limited_process import Limits, private_output, start_limited, why_it_ended
from rashpa.data.geometry.laboratory import Plane, Vector
from rashpa.data.stored.stored_facts import text_of
from rashpa.data.stored.stored_piece import Reading
from rashpa.data.stored.units_of_fields import ENERGIES, LENGTHS, PIXELS, TIMES, WAVELENGTHS, Units, energy_of

DETECTOR = "instrument/detector"
SPECIFIC = f"{DETECTOR}/detectorSpecific"
_NUMBERS: Mapping[str, tuple[tuple[str, ...], Units]] = {
    "distance_m": (("distance", "detector_distance"), LENGTHS),
    "pixel_size_m": (("x_pixel_size",), LENGTHS),
    "sensor_thickness_m": (("sensor_thickness",), LENGTHS),
    "count_time_s": (("count_time",), TIMES),
    "frame_time_s": (("frame_time",), TIMES),
}
"""By key of what a run file, or the metadata of a file, calls it: where it stands, as NXmx and as other writers have it."""
_WORDS = {"sensor_material": "sensor_material", "description": "description", "name": "type"}
TEXTS = {
    "start_time": "start_time",
    "end_time": "end_time",
    "sample": "sample/name",
    "instrument": "instrument/name",
    "source": "source/name",
}
KEYS: Mapping[str, type] = {
    **dict.fromkeys((*_NUMBERS, "beam_center_x", "beam_center_y", "energy_kev", "saturation_value"), float),
    **dict.fromkeys(_WORDS, str),
}
"""The types of `SourceFacts.values`."""
_MOST_MODULES = 1024
_MOST_NOTES = 32
_LONGEST = 1 << 20  # bytes of the answer without the mask
_SECONDS = 30
_MOST_VALUES = 1 << 20  # of a number that stands there once an image
_SAME_VALUES = 1e-6
_ENERGY_RANGE = (1e-3, 1e4)  # keV
_BEAMS = ("instrument/beam", "sample/beam", "instrument/source/beam")
_TURN = 1e-6  # of a direction that is one of two or more rotations


@dataclass(frozen=True)
class SourceModule:
    """Describes a part of the image, in pixels, and its place in the laboratory, in m."""

    left: int
    top: int
    width: int
    height: int
    plane: Plane


@dataclass(frozen=True)
class SourceFacts:
    """Holds the facts of a file. `values`: by key of [detector], and `frame_time_s`, `saturation_value`; `texts`: `start_time`, `sample`,
    `instrument`, `source`; `mask`: NXmx bits of pixels; `notes`: facts that the file has but that could not be used."""

    values: Mapping[str, float | str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    mask: NDArray[np.uint32] | None = None
    modules: tuple[SourceModule, ...] = ()
    notes: tuple[str, ...] = ()
    units: str = ""


def read_source_facts(path: Path, shape: tuple[int, int], reading: Reading) -> SourceFacts:
    """Return the facts of the HDF5 file `path` about images of `shape` (rows, columns); empty facts for other files. A separate process reads it. An
    unreadable fact is a note, never an error, since images can be read without it."""
    if not is_hdf5(path):
        return SourceFacts()
    folders = [str(folder) for folder in reading.folders_for(path)]
    limits = Limits(seconds=_SECONDS, file_bytes=4 * shape[0] * shape[1] + _LONGEST)
    with tempfile.TemporaryFile() as answer:
        arguments = [str(path), json.dumps(folders), str(shape[0]), str(shape[1])]
        process = start_limited(
            "rashpa.data.stored.source_facts", arguments, limits, stdout=answer.fileno(), stderr=subprocess.DEVNULL
        )
        with process:
            try:
                status = process.wait(2 * _SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                return _unread(path, "it takes too long")
        if status:
            return _unread(path, why_it_ended(status, limits))
        answer.seek(0)
        try:
            said = json.loads(answer.readline(_LONGEST))
            mask = np.frombuffer(answer.read(4 * shape[0] * shape[1] + 1), np.uint32)
            return _checked(said, mask.reshape(shape) if mask.size else None)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            return _unread(path, str(error)[:200])


def _unread(path: Path, reason: str) -> SourceFacts:
    return SourceFacts(notes=(f"{path}: what it says of the experiment cannot be read ({reason})",))


def _checked(said: Mapping[str, Any], mask: NDArray[np.uint32] | None) -> SourceFacts:
    """Check an answer that a foreign file may have influenced. Raise ValueError, TypeError or KeyError when it is impossible."""
    values: dict[str, float | str] = {}
    said_values: Mapping[str, Any] = said["values"]
    for key, value in said_values.items():
        if (
            key not in KEYS
            or not isinstance(value, KEYS[key])
            or (isinstance(value, float) and not math.isfinite(value))
        ):
            raise ValueError(f"{str(key)[:40]} is impossible")
        values[str(key)] = cast("float | str", value)
    texts = {str(key): str(value)[:4096] for key, value in said["texts"].items() if key in TEXTS}
    modules = []
    for left, top, width, height, corner, fast, slow in said["modules"][:_MOST_MODULES]:
        vectors = [tuple(float(one) for one in vector) for vector in (corner, fast, slow)]
        if any(len(vector) != 3 or not all(map(math.isfinite, vector)) for vector in vectors):
            raise ValueError("the places of modules are impossible")
        modules.append(SourceModule(int(left), int(top), int(width), int(height), Plane(*vectors)))  # type: ignore[arg-type]
    notes = tuple(str(note)[:500] for note in said["notes"][:_MOST_NOTES])
    units = said["units"]
    if units not in KNOWN:
        raise ValueError(f"pixel_units {str(units)[:40]} is impossible")
    return SourceFacts(values, texts, mask, tuple(modules), notes, str(units))


def _facts_of(path: Path, shape: tuple[int, int], folders: Sequence[Path]) -> SourceFacts:
    """Read the facts, in the separate process."""
    notes: list[str] = []
    with Hdf5File(path, folders=folders) as file:
        entry = file.find("entry")
        if not isinstance(entry, Group):
            return SourceFacts()
        found = NxmxFields(entry, notes)
        values: dict[str, float | str] = dict(found.numbers())
        for key, name in _WORDS.items():
            if said := found.text(f"{DETECTOR}/{name}"):
                values[key] = said
        texts = {name: said for name, place in TEXTS.items() if (said := found.text(place))}
        mask, modules, units = found.mask(shape), tuple(found.modules(shape)), found.pixel_units()
        return SourceFacts(values, texts, mask, modules, tuple(notes), units)


class NxmxFields:
    """Reads fields of an NXmx entry, and records their faults as notes."""

    def __init__(self, entry: Group, notes: list[str]) -> None:
        self.entry = entry
        self.notes = notes

    def array(self, path: str) -> Array | None:
        """Return the array, None when it is missing or no array."""
        found = self.entry.find(path)
        if isinstance(found, Absence):
            self.notes.append(f"{path}: {found.text}")
        return found if isinstance(found, Array) else None

    def text(self, path: str) -> str:
        """Return the text, empty when it is missing or means unknown."""
        array = self.array(path)
        if array is None or array.dtype.kind not in "OSU":
            return ""
        try:
            value = array[()]
        except ValueError as error:
            self.notes.append(f"{path}: {error}")
            return ""
        said = text_of(value if isinstance(value, bytes | str) else np.asarray(value).ravel()[:1].tolist()[0])[:4096]
        return "" if said == "unknown" else said

    def number(self, path: str, units: Units) -> float | None:
        """Return the number in the unit that has size 1 in `units`, None when it is missing or its unit is unknown. Of several values, one for each
        image, return the common value."""
        array = self.array(path)
        if array is None or array.dtype.kind not in "iuf" or not 1 <= math.prod(array.shape) <= _MOST_VALUES:
            return None
        try:
            values = np.asarray(array[()], np.float64).ravel()
        except ValueError as error:
            self.notes.append(f"{path}: {error}")
            return None
        unit = text_of(array.attrs.get("units", "")).strip()
        if unit not in units:
            said = f"the unit {unit[:40]!r} is not known" if unit else "it has no units"
            self.notes.append(f"{path}: {said}, and the value not taken")
            return None
        value = float(values[0])
        if values.size > 1 and not np.allclose(values, value, rtol=_SAME_VALUES, atol=0):
            self.notes.append(f"{path}: goes from {values.min():g} to {values.max():g}, and is not taken")
            return None
        return value * units[unit] if math.isfinite(value) else None

    def first(self, paths: Iterable[str], units: Units) -> float | None:
        """Return the number of the first of these fields that has one, otherwise None."""
        return next((value for path in paths if (value := self.number(path, units)) is not None), None)

    def numbers(self) -> Iterator[tuple[str, float]]:
        """Yield name and value of the numbers above 0."""
        for key, (names, units) in _NUMBERS.items():
            value = self.first((f"{DETECTOR}/{name}" for name in names), units)
            if value is not None and value > 0:
                yield key, value
        across, down = (self.number(f"{DETECTOR}/{axis}_pixel_size", LENGTHS) for axis in "xy")
        if across and down and not math.isclose(across, down, rel_tol=1e-6):
            self.notes.append(
                f"pixels are {across:g} m wide and {down:g} m high; files that are made from it have square ones, so that rows lie elsewhere"
            )
        for name, value in (("beam_center_x", self.beam_center("x")), ("beam_center_y", self.beam_center("y"))):
            if value is not None:
                yield name, value
        if (energy := self.energy()) is not None:
            yield "energy_kev", energy
        saturation = self.first((f"{DETECTOR}/saturation_value", f"{SPECIFIC}/saturation_value"), {"": 1.0})
        if saturation is not None and saturation > 0:
            yield "saturation_value", saturation

    def beam_center(self, axis: Literal["x", "y"]) -> float | None:
        """Return the beam centre in pixels. NXmx allows it to be given as a length."""
        path = f"{DETECTOR}/beam_center_{axis}"
        array = self.array(path)
        unit = "" if array is None else text_of(array.attrs.get("units", "")).strip()
        if not unit or unit not in LENGTHS:
            return self.number(path, PIXELS)
        value, pitch = self.number(path, LENGTHS), self.number(f"{DETECTOR}/{axis}_pixel_size", LENGTHS)
        if value is None or not pitch:
            self.notes.append(f"{path}: is a length, and nobody says how large pixels are; it is not taken")
            return None
        return value / pitch

    def energy(self) -> float | None:
        """Return the photon energy in keV: that of the beam, as in NXmx and older files, or that of the detector's settings."""
        energy = self.first((f"{beam}/incident_energy" for beam in _BEAMS), ENERGIES)
        wavelength = self.first((f"{beam}/incident_wavelength" for beam in _BEAMS), WAVELENGTHS)
        by_length = energy_of(wavelength) if wavelength is not None and wavelength > 0 else None
        if energy and by_length and not math.isclose(energy, by_length, rel_tol=1e-3):
            self.notes.append(
                f"incident_energy is {energy:g} keV, and incident_wavelength is that of {by_length:g} keV; the first one is taken"
            )
        found = energy or by_length or self.number(f"{SPECIFIC}/photon_energy", ENERGIES)
        if found is not None and not _ENERGY_RANGE[0] <= found <= _ENERGY_RANGE[1]:
            self.notes.append(f"photons of {found:g} keV are none of a detector; the energy is not taken")
            return None
        return found

    def mask(self, shape: tuple[int, int]) -> NDArray[np.uint32] | None:
        """Return the mask that holds for every image of a run, None without one."""
        array = self.array(f"{DETECTOR}/pixel_mask")
        array = self.array(f"{SPECIFIC}/pixel_mask") if array is None else array
        if array is None:
            return None
        if array.shape not in (shape, (1, *shape)) or array.dtype.kind not in "iub":
            sides = " × ".join(map(str, array.shape[::-1]))
            self.notes.append(f"pixel_mask: {sides} values of {array.dtype}, and it is not taken")
            return None
        try:
            found = np.asarray(array[()]).reshape(shape)
        except ValueError as error:
            self.notes.append(f"pixel_mask: {error}")
            return None
        wide = found.dtype.itemsize > 4 or found.dtype.kind == "i"
        if wide and ((found < 0).any() or (found > 0xFFFFFFFF).any()):
            self.notes.append("pixel_mask: 32 bits do not hold it, and it is not taken")
            return None
        return found.astype(np.uint32)

    def pixel_units(self) -> str:
        """Return the pixel units that a file of rashpa states, empty when it states none."""
        rashpa = self.entry.find("rashpa")
        said = text_of(rashpa.attrs.get("pixel_units", "")) if isinstance(rashpa, Group) else ""
        return said if said in KNOWN else ""

    def pitch_unknown(self) -> bool:
        """Return True when the file states that the pixel size is unknown; then the places of pixels are unknown, too."""
        array = self.array(f"{DETECTOR}/x_pixel_size")
        if array is None or array.dtype.kind != "f" or array.shape != ():
            return False
        return bool(np.isnan(np.asarray(array[()])))

    def modules(self, shape: tuple[int, int]) -> list[SourceModule]:
        """Return the places of parts of the image; empty when one of them cannot be read."""
        detector = self.entry.find(DETECTOR)
        if not isinstance(detector, Group) or self.pitch_unknown():
            return []
        found: list[SourceModule] = []
        try:
            groups = [
                one
                for one in (detector.find(name) for name in detector)
                if isinstance(one, Group) and text_of(one.attrs.get("NX_class", "")) == "NXdetector_module"
            ]
            found.extend(self._module(group, shape) for group in groups[: _MOST_MODULES + 1])
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            self.notes.append(f"NXdetector_module: {error}; places of modules are not taken")
            return []
        if len(found) > _MOST_MODULES:
            self.notes.append(f"more than {_MOST_MODULES} modules; their places are not taken")
            return []
        return found

    def _module(self, group: Group, shape: tuple[int, int]) -> SourceModule:
        top, left = (int(one) for one in np.ravel(group["data_origin"][()])[-2:])
        rows, columns = (int(one) for one in np.ravel(group["data_size"][()])[-2:])
        if min(top, left) < 0 or min(rows, columns) < 1 or top + rows > shape[0] or left + columns > shape[1]:
            raise ValueError(f"{group}: does not lie in the image")
        fast, slow = (_step(group[name]) for name in ("fast_pixel_direction", "slow_pixel_direction"))
        corner = self._origin(group["fast_pixel_direction"])
        return SourceModule(left, top, columns, rows, Plane(corner, fast, slow))

    def _origin(self, axis: Array) -> Vector:
        """Return the origin of an axis: the sum of all translations that it depends on, without the detector's distance along the beam. Raise
        ValueError when it depends on a rotation."""
        x, y, z = _vector(axis, "offset", (0.0, 0.0, 0.0))
        seen = 0
        beneath = text_of(axis.attrs.get("depends_on", "."))
        folder = ""
        while beneath not in (".", ""):
            seen += 1
            if seen > 16:
                raise ValueError(f"{axis}: depends on more than 16 axes")
            path = beneath.removeprefix("/entry/") if beneath.startswith("/") else f"{folder}/{beneath}"
            one = self.entry.find(path)
            if one is None or isinstance(one, Absence):
                raise ValueError(f"{axis}: depends on {beneath[:80]}, which is not there")
            if isinstance(one, Group):
                raise TypeError(f"{axis}: depends on {beneath[:80]}, which is a group")
            value = float(np.asarray(one[()]).ravel()[0])
            kind = text_of(one.attrs.get("transformation_type", "translation"))
            if kind == "rotation":
                if abs(value) > _TURN:
                    raise ValueError(f"{path}: is turned by {value:g}")
                step: Vector = (0.0, 0.0, 0.0)
            elif math.isnan(value) and _vector(one, "vector", None)[:2] == (0.0, 0.0):
                step = (0.0, 0.0, 0.0)  # along the beam, by a distance that nobody knows
            else:
                step = _step(one)
            away = _vector(one, "offset", (0.0, 0.0, 0.0))
            x, y, z = x + step[0] + away[0], y + step[1] + away[1], z + step[2] + away[2]
            beneath = text_of(one.attrs.get("depends_on", "."))
            folder = path.rpartition("/")[0]
        distance = self.number(f"{DETECTOR}/distance", LENGTHS) or 0.0
        return x, y, z - distance


def _step(axis: Any) -> Vector:
    """Return the step of a translation, in m."""
    unit = text_of(axis.attrs.get("units", "m"))
    if unit not in LENGTHS:
        raise ValueError(f"{axis}: the unit {unit[:40]!r} is not known")
    length = float(np.asarray(axis[()]).ravel()[0]) * LENGTHS[unit]
    x, y, z = _vector(axis, "vector", None)
    size = math.hypot(x, y, z)
    if not size or not math.isfinite(length):
        raise ValueError(f"{axis}: is no step")
    return x / size * length, y / size * length, z / size * length


def _vector(axis: Any, name: str, default: Vector | None) -> Vector:
    """Return an attribute of three numbers, `default` when it is missing; offsets are in m."""
    said = axis.attrs.get(name, default)
    if said is None:
        raise ValueError(f"{axis}: has no {name}")
    values = [float(one) for one in np.ravel(said)]
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise ValueError(f"{axis}: its {name} is not three numbers")
    if name == "offset":
        unit = text_of(axis.attrs.get("offset_units", axis.attrs.get("units", "m")))
        if unit not in LENGTHS:
            raise ValueError(f"{axis}: the unit {unit[:40]!r} of its offset is not known")
        values = [value * LENGTHS[unit] for value in values]
    return values[0], values[1], values[2]


def _serve(path: str, folders: str, rows: str, columns: str) -> None:
    out = private_output()
    found = _facts_of(Path(path), (int(rows), int(columns)), [Path(folder) for folder in json.loads(folders)])
    places = [
        [one.left, one.top, one.width, one.height, one.plane.corner, one.plane.fast, one.plane.slow]
        for one in found.modules
    ]
    said = {"values": found.values, "texts": found.texts, "modules": places, "notes": found.notes, "units": found.units}
    out.write(json.dumps(said).encode() + b"\n")
    if found.mask is not None:
        out.write(np.ascontiguousarray(found.mask).data)
    out.flush()


if __name__ == "__main__":
    _serve(*sys.argv[1:5])
