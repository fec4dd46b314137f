# SPDX-License-Identifier: Apache-2.0
"""Finds faults in an NXmx file, of rashpa or of other writers. It runs in a process under limits, because the file may be foreign."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rashpa.data.files.file_names import natural
from rashpa.data.files.hdf5.files import folders_of
from rashpa.data.files.hdf5.layouts import Absence
from rashpa.data.files.hdf5.tree import Array, Group, Hdf5File
from rashpa.data.geometry.laboratory import HC_KEV_ANGSTROM, Place, beam_on
from rashpa.data.stored.combined.combined import is_combined, left_out_in, parts_in
from rashpa.data.stored.source_facts import DETECTOR, NxmxFields, SourceModule
from rashpa.data.stored.stored_facts import text_of
from rashpa.data.stored.units_of_fields import ENERGIES, LENGTHS, TIMES, WAVELENGTHS

_MOST_NAMED = 5
_NEEDED = (
    "definition",
    "start_time",
    "sample/name",
    "source/name",
    "instrument/name",
    "instrument/beam/incident_wavelength",
    f"{DETECTOR}/sensor_material",
    f"{DETECTOR}/sensor_thickness",
)
_LENGTH_FIELDS = ("distance", "x_pixel_size", "y_pixel_size", "sensor_thickness")
_TIME_FIELDS = ("count_time", "frame_time")
_BEAM_PIXELS = 1.0
_RELATIVE = 1e-3
_READER_BITS = 0xFFFF


@dataclass(frozen=True)
class Finding:
    """Holds one finding. `wrong`: it changes the meaning of images, or loses them; `odd`: a person should check it."""

    level: Literal["wrong", "odd"]
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.level}: {self.where}: {self.text}"


@dataclass(frozen=True)
class Checked:
    """Holds the findings on a file, and the places of its modules. `images`: the number of images."""

    findings: tuple[Finding, ...]
    images: int
    shape: tuple[int, int] | None
    modules: tuple[SourceModule, ...]
    beam: Place | None

    @property
    def good(self) -> bool:
        """Return True when no finding is `wrong`."""
        return all(one.level != "wrong" for one in self.findings)


def check_file(path: Path, folders: Sequence[Path] = (), name: str = "entry") -> Checked:
    """Check the entry `name` of the NXmx file `path`. `folders`: the folders to which its links may lead, by default its own. Raise BadFileError or
    OSError when it cannot be read."""
    with Hdf5File(path, folders=folders) as file:
        entry = file.find(name)
        if not isinstance(entry, Group):
            return Checked((Finding("wrong", f"/{name}", "is not there; the file is no NXmx"),), 0, None, (), None)
        return _Check(entry).all()


def check_entries(path: Path, follow: Sequence[Path] = ()) -> dict[str, Checked]:
    """Check all entries of a file. Most files have one. A file that links to several buffers has one for each, and a finding for each missing master.
    Raise errors as `check_file` does."""
    folders = folders_of(path, follow)
    names = list(parts_in(path, follow)) if is_combined(path) else []
    checked = {name: check_file(path, folders, name) for name in (names if len(names) > 1 else ["entry"])}
    if names:
        first = next(iter(checked))
        lacking = [Finding("wrong", f"/{name}", f"is left out: {why}") for name, why in left_out_in(path).items()]
        checked[first] = replace(checked[first], findings=(*checked[first].findings, *lacking))
    return checked


class _Check:
    def __init__(self, entry: Group) -> None:
        self._notes: list[str] = []
        self._fields = NxmxFields(entry, self._notes)
        self._entry = entry
        self._found: list[Finding] = []
        self._modules: list[SourceModule] = []
        self._beam: Place | None = None

    def all(self) -> Checked:
        stack = self._stack()
        images = sum(len(array) for _, array in stack)
        shape = (stack[0][1].shape[1], stack[0][1].shape[2]) if stack else None
        self._needed()
        self._units()
        self._counts(stack, images)
        self._absent(stack)
        self._energy()
        self._times(images)
        if shape is not None:
            self._masks(shape, stack[0][1].dtype)
            self._places(shape)
        for note in self._notes:
            self._wrong("/entry", note)
        unique = tuple(dict.fromkeys(self._found))
        return Checked(unique, images, shape, tuple(self._modules), self._beam)

    def _wrong(self, where: str, text: str) -> None:
        self._found.append(Finding("wrong", where, text))

    def _odd(self, where: str, text: str) -> None:
        self._found.append(Finding("odd", where, text))

    def _stack(self) -> list[tuple[str, Array]]:
        """Return the arrays of images in order, with their names."""
        data = self._entry.find("data")
        if not isinstance(data, Group):
            self._wrong("/entry/data", "is not there")
            return []
        numbered = sorted((name for name in data if name.startswith("data_")), key=natural)
        names = ["data"] if "data" in data else numbered
        found: list[tuple[str, Array]] = []
        for name in names:
            one = data.find(name)
            if isinstance(one, Absence):
                self._wrong(f"/entry/data/{name}", f"{one.text}")
            elif isinstance(one, Array) and len(one.shape) == 3 and one.dtype.kind in "iuf":
                found.append((f"/entry/data/{name}", one))
            elif isinstance(one, Array):
                self._wrong(
                    f"/entry/data/{name}", f"has the shape {one.shape} of {one.dtype}; images are [image][row][column]"
                )
        shapes = {array.shape[1:] for _, array in found}
        if len(shapes) > 1:
            self._wrong("/entry/data", "its parts have images of different shapes")
            return []
        if not found and not self._found and self._fields.text("definition") == "NXmx":
            self._wrong("/entry/data", f"has no images{self._why_none()}")
        return found

    def _why_none(self) -> str:
        """Return the reason why a run of rashpa has no images, empty when unknown."""
        ours = self._entry.find("rashpa")
        if not isinstance(ours, Group):
            return ""
        if "raw" in ours:
            return "; they are in raw files, of which `rashpa convert` makes NXmx"
        return "" if "books" in ours else "; its receiver has not completed the file: `rashpa repair` does"

    def _needed(self) -> None:
        for path in _NEEDED:
            if self._entry.find(path) is None:
                self._odd(f"/entry/{path}", "is not there, and NXmx needs it")

    def _units(self) -> None:
        for names, units in ((_LENGTH_FIELDS, LENGTHS), (_TIME_FIELDS, TIMES)):
            for name in names:
                array = self._fields.array(f"{DETECTOR}/{name}")
                if array is None:
                    continue
                unit = text_of(array.attrs.get("units", ""))
                if not unit:
                    self._odd(f"/entry/{DETECTOR}/{name}", "has no units; readers guess them")
                elif unit not in units:
                    self._wrong(
                        f"/entry/{DETECTOR}/{name}",
                        f"has the units {unit[:40]!r}, which are none of a {'length' if units is LENGTHS else 'time'}",
                    )
        pitch = [self._fields.number(f"{DETECTOR}/{axis}_pixel_size", LENGTHS) for axis in "xy"]
        if None not in pitch and not all(value and 1e-7 < value < 1e-2 for value in pitch):
            self._wrong(f"/entry/{DETECTOR}/x_pixel_size", f"pixels of {pitch[0]:g} m × {pitch[1]:g} m")

    def _counts(self, stack: list[tuple[str, Array]], images: int) -> None:
        where = f"/entry/{DETECTOR}/detectorSpecific"
        written = self._fields.number(f"{DETECTOR}/detectorSpecific/nimages_written", {"": 1.0})
        due = self._fields.number(f"{DETECTOR}/detectorSpecific/nimages", {"": 1.0})
        triggers = self._fields.number(f"{DETECTOR}/detectorSpecific/ntrigger", {"": 1.0}) or 1.0
        if stack and written is not None and written != images:
            self._wrong(f"{where}/nimages_written", f"is {written:.0f}, and there are {images} images")
        if stack and written is None and due is not None and due * triggers < images:
            self._wrong(f"{where}/nimages", f"is {due * triggers:.0f}, and there are {images} images")
        if due is not None and written is not None and written > due * triggers:
            self._wrong(f"{where}/nimages", f"is {due:.0f}, and {written:.0f} images were written")
        for axis, side in (("x", 2), ("y", 1)):
            pixels = self._fields.number(f"{DETECTOR}/detectorSpecific/{axis}_pixels_in_detector", {"": 1.0})
            if stack and pixels is not None and pixels != stack[0][1].shape[side]:
                self._wrong(
                    f"{where}/{axis}_pixels_in_detector", f"is {pixels:.0f}, and images have {stack[0][1].shape[side]}"
                )
        first = 1
        for name, array in stack if len(stack) > 1 else ():
            low, high = (array.attrs.get(key) for key in ("image_nr_low", "image_nr_high"))
            due_here = (first, first + len(array) - 1)
            if low is not None and high is not None and (int(low), int(high)) != due_here:
                self._wrong(
                    name,
                    f"says it has the images {int(low)} … {int(high)}, and has {first} … {first + len(array) - 1}",
                )
            first += len(array)
        numbers = self._fields.array("data/frame_number")
        if numbers is not None and len(numbers.shape) == 1 and numbers.dtype.kind in "iu":
            self._frames(numbers, images if stack else None)

    def _frames(self, numbers: Array, images: int | None) -> None:
        where = "/entry/data/frame_number"
        values = np.asarray(numbers[()])
        if images is not None and len(values) != images:
            self._wrong(where, f"has {len(values)} entries, and there are {images} images")
        unique, counts = np.unique(values, return_counts=True)
        if twice := [str(one) for one in unique[counts > 1][:_MOST_NAMED]]:
            self._wrong(where, f"{int((counts > 1).sum())} frames are there more than once ({', '.join(twice)})")
        elif len(values) > 1 and (np.diff(values.astype(np.int64)) < 0).any():
            self._odd(where, "frames are not in order")

    def _absent(self, stack: list[tuple[str, Array]]) -> None:
        for name, array in stack:
            if absent := array.absences():
                first = next(iter(absent.items()))
                self._wrong(
                    name, f"{len(absent)} of {len(array)} images have no bytes; of image {first[0]}: {first[1].text}"
                )

    def _energy(self) -> None:
        energy = self._fields.number("instrument/beam/incident_energy", ENERGIES)
        wavelength = self._fields.number("instrument/beam/incident_wavelength", WAVELENGTHS)
        where = "/entry/instrument/beam"
        if wavelength is not None and not 1e-3 < wavelength < 1e3:
            self._wrong(f"{where}/incident_wavelength", f"is {wavelength:g} Å")
        if energy and wavelength and not math.isclose(energy * wavelength, HC_KEV_ANGSTROM, rel_tol=_RELATIVE):
            self._wrong(
                where,
                f"{energy:g} keV are {HC_KEV_ANGSTROM / energy:.5f} Å, and incident_wavelength is {wavelength:.5f} Å",
            )

    def _times(self, images: int) -> None:
        start, end = (self._time(name) for name in ("start_time", "end_time"))
        if start is None or end is None:
            return
        if (start.tzinfo is None) != (end.tzinfo is None):
            return
        seconds = (end - start).total_seconds()
        period = self._fields.number(f"{DETECTOR}/frame_time", TIMES) or 0.0
        if seconds < 0:
            self._wrong("/entry/end_time", f"is {-seconds:g} s before start_time")
        elif images > 1 and seconds < 0.9 * (images - 1) * period - 1:
            self._odd(
                "/entry/end_time",
                f"is {seconds:g} s behind start_time, and {images} images of {period:g} s each take longer",
            )

    def _time(self, name: str) -> dt.datetime | None:
        text = self._fields.text(name)
        if not text:
            return None
        try:
            found = dt.datetime.fromisoformat(text)
        except ValueError:
            self._wrong(f"/entry/{name}", f"{text[:40]!r} is no time of ISO 8601")
            return None
        if found.tzinfo is None:
            self._odd(f"/entry/{name}", f"{text} has no zone; NXmx wants Z")
        return found

    def _masks(self, shape: tuple[int, int], pixel: np.dtype[Any]) -> None:
        where = f"/entry/{DETECTOR}/pixel_mask"
        mask = self._fields.mask(shape)
        if mask is not None and mask.size:
            if (mask & _READER_BITS).all():
                self._wrong(where, "masks all pixels")
        elif self._entry.find(f"{DETECTOR}/pixel_mask") is None:
            self._odd(where, "is not there: no pixel is masked")
        saturation = self._fields.number(f"{DETECTOR}/saturation_value", {"": 1.0})
        if saturation is not None and pixel.kind in "iu" and saturation > np.iinfo(pixel).max:
            self._wrong(f"/entry/{DETECTOR}/saturation_value", f"is {saturation:.0f}, which no pixel of {pixel} can be")

    def _places(self, shape: tuple[int, int]) -> None:
        where = f"/entry/{DETECTOR}"
        self._modules = self._fields.modules(shape)
        if not self._modules:
            if self._fields.pitch_unknown():
                self._odd(
                    f"{where}/x_pixel_size", "is no number: nobody knows how large pixels are, and where they lie"
                )
            elif not any("NXdetector_module" in note for note in self._notes):
                self._odd(where, "has no NXdetector_module: nobody knows how its pixels lie")
            return
        owner = np.zeros(shape, np.uint8)
        for one in self._modules:
            part = owner[one.top : one.top + one.height, one.left : one.left + one.width]
            if part.any():
                self._wrong(where, f"two modules have the pixel in row {one.top}, column {one.left}")
            part += 1
        for line in self._directions():
            self._wrong(where, line)
        self._beam_place(where)
        distance = self._fields.number(f"{DETECTOR}/distance", LENGTHS)
        if distance is None and self._entry.find(f"{DETECTOR}/distance") is not None:
            self._odd(f"{where}/distance", "is no number: nobody knows how far the detector is")
        for axis, name in (("x", "fast"), ("y", "slow")):
            pitch = self._fields.number(f"{DETECTOR}/{axis}_pixel_size", LENGTHS)
            steps = {round(math.hypot(*getattr(one.plane, name)), 12) for one in self._modules}
            if pitch and any(not math.isclose(step, pitch, rel_tol=_RELATIVE) for step in steps):
                self._wrong(
                    f"{where}/{axis}_pixel_size",
                    f"is {pitch:g} m, and steps of {name}_pixel_direction are {min(steps):g} m",
                )

    def _beam_place(self, where: str) -> None:
        """Compare the beam centre with the place where the beam hits the image according to the axes."""
        self._beam = beam_on([((one.left, one.top), one.plane) for one in self._modules])
        said = [self._fields.beam_center("x"), self._fields.beam_center("y")]
        if self._beam is None:
            self._odd(where, "stands along the beam: no pixel lies in its way")
        elif said[0] is not None and said[1] is not None:
            away = math.hypot(said[0] - self._beam[0], said[1] - self._beam[1])
            if away > _BEAM_PIXELS:
                self._wrong(
                    f"{where}/beam_center_x",
                    f"the beam centre {said[0]:g}, {said[1]:g} is {away:.1f} pixels from where axes put it ({self._beam[0]:.2f}, {self._beam[1]:.2f})",
                )

    def _directions(self) -> Iterator[str]:
        """Yield a text for each module with axes that are not perpendicular, and for a file with some mirrored modules."""
        hands = set()
        for one in self._modules:
            fast, slow = (np.asarray(step) for step in (one.plane.fast, one.plane.slow))
            cosine = float(fast @ slow) / float(np.linalg.norm(fast) * np.linalg.norm(slow))
            if abs(cosine) > 1e-3:
                yield f"the axes of the module in row {one.top}, column {one.left} are {math.degrees(math.acos(cosine)):.1f}° apart"
            hands.add(bool(np.cross(fast, slow)[2] > 0))
        if len(hands) > 1:
            yield "some modules are mirror images of how the others lie"


_PICTURE_COLUMNS, _PICTURE_ROWS = 61, 31


def picture(checked: Checked) -> list[str]:
    """Draw the modules as text, seen along the beam from the sample: x to the left, y up. `o`: first pixel, `>`: end of its first row, `+`: the beam.
    Return no lines without modules."""
    corners: list[list[tuple[float, float]]] = []
    for one in checked.modules:
        ends = [(0.0, 0.0), (one.width, 0.0), (one.width, one.height), (0.0, one.height)]
        corners.append([one.plane.at(end)[:2] for end in ends])
    if not corners:
        return []
    places = [place for module in corners for place in module] + [(0.0, 0.0)]
    least, most = ([pick(place[axis] for place in places) for axis in (0, 1)] for pick in (min, max))
    span = max(most[0] - least[0], most[1] - least[1]) or 1.0
    field = [[" "] * _PICTURE_COLUMNS for _ in range(_PICTURE_ROWS)]

    def put(place: tuple[float, float], letter: str) -> None:
        column = round((most[0] - place[0]) / span * (_PICTURE_COLUMNS - 1))
        row = round((most[1] - place[1]) / span * (_PICTURE_ROWS - 1))
        field[row][column] = letter

    for module in corners:
        for (x0, y0), (x1, y1) in zip(module, [*module[1:], module[0]], strict=True):
            for step in range(41):
                put((x0 + (x1 - x0) * step / 40, y0 + (y1 - y0) * step / 40), "·")
    for module in corners:
        put(module[1], ">")
        put(module[0], "o")
    put((0.0, 0.0), "+")
    return [line for line in ("".join(row).rstrip() for row in field) if line]
