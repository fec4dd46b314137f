# SPDX-License-Identifier: Apache-2.0
"""Lists the keys of CrystFEL's geometry files: keys that affect places or bad pixels, keys that are ignored, and keys that are refused with a reason.
Names are from crystfel_geometry(5) and earlier versions."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

At = tuple[int, str]
"""The line of a value, and its text."""

PLACES = ("min_fs", "max_fs", "min_ss", "max_ss")
EFFECT = {
    *PLACES,
    "corner_x",
    "corner_y",
    "fs",
    "ss",
    "coffset",
    "res",
    "pixel_pitch",
    "no_index",
    "mask_edge_pixels",
}
"""Keys of panels by which pixels lie elsewhere or are left out."""
SHIFTS = ("detector_shift_x", "detector_shift_y")
OF_THE_FILE = {"wavelength", "photon_energy", "electron_voltage", "clen", *SHIFTS}
"""Keys of the whole file that say something of the experiment."""
_NUMBERS = {"adu_per_eV", "adu_per_photon", "max_adu", "adu_scale", "peak_sep", "integr_radius"}
_SILENT_OF_PANELS = {*_NUMBERS, "data", "badrow_direction"}
_SILENT_OF_FILE = {"bandwidth", "photon_energy_bandwidth", "peak_list", "peak_list_type", "peak_info_location"}
_GROUPS = ("group_", "rigid_group")
_FLAG = re.compile(r"flag_(lessthan|morethan|equal)")
_MASK = re.compile(r"mask(?:([0-7])_(data|file|goodbits|badbits)|_(file|good|bad))?")
_RAILS = ("rail_x", "rail_y", "rail_z", "rail_direction", "clen_for_centering")
_REFUSED = {
    **dict.fromkeys(
        _RAILS,
        "moves panels with the camera length, which is not done here; give corner_x and corner_y of this length",
    ),
    **dict.fromkeys(
        ("saturation_map", "saturation_map_file"),
        "names a map of saturation, by which nothing is left out here; leave it out, and give detector.special for values of saturated pixels",
    ),
    "photon_energy_scale": "scales photon_energy, which is not done here; give photon_energy in its own unit",
    "clen": "is of the whole file, not of a panel; give the panel a coffset",
}
"""The reason of a refused key, and what to do, by its name."""
MASKS_OF_FILES = ("/pixel_mask", "/data_1/mask")
"""The endings of the places of masks that are read with the images."""


@dataclass(frozen=True)
class ValueFlag:
    """Marks pixels as bad by their values."""

    line: int
    key: str
    value: float

    def marks_none(self, counts: tuple[float, float]) -> bool:
        """Return True when it marks no value in the range `counts`, ends included."""
        least, most = counts
        if self.key == "flag_lessthan":
            return self.value <= least
        if self.key == "flag_morethan":
            return self.value >= most
        return not least <= self.value <= most


def flag_trouble(flags: Iterable[ValueFlag], counts: tuple[float, float]) -> str:
    """Return a text that names a flag, with its line, that marks a valid count as bad; empty when none does. `counts`: the least and the largest
    valid count."""
    for flag in flags:
        if not flag.marks_none(counts):
            return (
                f"line {flag.line}: {flag.key} = {flag.value:g} makes pixels bad by their value, and here those from {counts[0]:g} to {counts[1]:g} "
                "count; leave it out, and say in the images which values are masked (masked, special)"
            )
    return ""


def saturation_trouble(panels: Iterable[Mapping[str, At]], counts: tuple[float, float]) -> str:
    """Return a text that names a max_adu of these panels, with its line, that is below a valid count; empty when none is. `counts`: as for
    `flag_trouble`."""
    for values in panels:
        if (at := values.get("max_adu")) is None:
            continue
        value = number_of("max_adu", at)
        if value < counts[1]:
            return (
                f"line {at[0]}: max_adu = {value:g}, and here pixels up to {counts[1]:g} count, saturated ones too; leave it out, and say in the images which values "
                "are saturated (detector.special, special)"
            )
    return ""


def is_of_file(name: str) -> bool:
    """Return True when a key without a panel applies to the whole file; other such keys are defaults of panels."""
    return name.startswith(_GROUPS) or name in OF_THE_FILE | _SILENT_OF_FILE | {"photon_energy_scale"}


def check_of_file(name: str, at: At) -> None:
    """Raise ValueError that names the line when the key is refused, or its value is invalid."""
    if name in _REFUSED and name != "clen":
        raise ValueError(f"line {at[0]}: {name} {_REFUSED[name]}")
    if name == "bandwidth":
        number_of(name, at)


def check_of_panel(name: str, at: At) -> None:
    """Raise ValueError that names the line when the key is unknown or refused, or its value is invalid."""
    if name in _REFUSED:
        raise ValueError(f"line {at[0]}: {name[:40]} {_REFUSED[name]}")
    if name in _NUMBERS or _FLAG.fullmatch(name):
        value = number_of(name, at)
        if name == "max_adu" and value <= 0:
            raise ValueError(f"line {at[0]}: max_adu: {value:g} is not above 0; leave it out")
        return
    known = name in EFFECT | _SILENT_OF_PANELS or re.fullmatch(r"dim[0-9]", name) or _MASK.fullmatch(name)
    if not known:
        raise ValueError(f"line {at[0]}: the key {name[:40]} is not known")


def flag_of(name: str, at: At) -> ValueFlag | None:
    """Return the values that the key marks as bad, None for another key."""
    return ValueFlag(at[0], name, number_of(name, at)) if _FLAG.fullmatch(name) else None


def check_masks(values: Mapping[str, At]) -> None:
    """Raise ValueError that names the line when a panel has another mask than the image's own."""
    masks: dict[str, dict[str, _Said]] = {}
    for name, at in values.items():
        if match := _MASK.fullmatch(name):
            old = {None: "data", "good": "goodbits", "bad": "badbits"}
            masks.setdefault(match[1] or "0", {})[match[2] or old.get(match[3], match[3])] = _Said(name, *at)
    for mask in masks.values():
        _check_mask(mask)


class _Said(NamedTuple):
    key: str
    line: int
    text: str

    def refuse(self, why: str) -> NoReturn:
        raise ValueError(f"line {self.line}: {self.key} {why}")


def _check_mask(mask: Mapping[str, _Said]) -> None:
    advice = "give its pixels as bad regions, or to [detector.calibration] mask"
    if said := mask.get("file"):
        said.refuse(f"names a further file, which is not read; {advice}")
    if (said := mask.get("data")) is None:
        return  # bits of no mask
    if not said.text.endswith(MASKS_OF_FILES):
        said.refuse(f"names {said.text[:60]}, which is not the pixel_mask that is read with images; {advice}")
    if (said := mask.get("goodbits")) and _bits(said):
        said.refuse(f"picks pixels by bits that must be there, and a pixel_mask has bits of what is bad; {advice}")
    if (said := mask.get("badbits")) and _bits(said) & _ALL_BITS != _ALL_BITS:
        said.refuse("picks some bits of the mask, and here each of them makes a pixel bad; give 0xff or more")


_ALL_BITS = 0xFF  # of NXmx, lasting properties of pixels; few files have others


def _bits(said: _Said) -> int:
    try:
        return int(said.text, 16 if said.text.lower().startswith("0x") else 10)
    except ValueError:
        said.refuse(f'is "{said.text[:40]}", which is no number of bits; give 0xff')


def number_of(key: str, at: At) -> float:
    """Return the value as a number. Raise ValueError that names the line when it is none."""
    try:
        value = float(at[1])
    except ValueError:
        raise ValueError(f'line {at[0]}: {key}: "{at[1][:40]}" is no number') from None
    if not math.isfinite(value):
        raise ValueError(f"line {at[0]}: {key}: {value} is no place")
    return value


def whole_of(key: str, at: At) -> int:
    """Return the value as the number of a pixel. Raise ValueError that names the line when it is none."""
    value = number_of(key, at)
    if value != int(value) or not 0 <= value < 2**20:
        raise ValueError(f"line {at[0]}: {key}: {at[1]} is no number of a pixel")
    return int(value)


def check_one_image(panels: Iterable[tuple[str, Mapping[str, At]]]) -> None:
    """Raise ValueError that names the line when panels are in several datasets, which would be several images."""
    first: At | None = None
    for name, values in panels:
        at = values.get("data")
        first = first or at or (0, "")
        if at is not None and at[1] != first[1]:
            raise ValueError(
                f"line {at[0]}: data: the panel {name} lies in {at[1][:60]}, those before it elsewhere; images have all panels in one array"
            )
