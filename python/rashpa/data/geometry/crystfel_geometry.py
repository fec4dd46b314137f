# SPDX-License-Identifier: Apache-2.0
"""Reads CrystFEL's geometry files: panels of an image, the places of their pixels, bad regions. The parser is strict: it refuses an unknown key, with
its line.

Format: crystfel_geometry(5). Images are two-dimensional here, so that files whose panels are in several planes of an array are refused.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import advised
from rashpa.data.files.regular_file import lines_of, read_named_text
from rashpa.data.geometry import crystfel_keys as keys
from rashpa.data.geometry.crystfel_keys import SHIFTS, At, ValueFlag, number_of, whole_of
from rashpa.data.geometry.laboratory import HC_KEV_ANGSTROM

_MOST_BYTES = 4 << 20
_MOST_PANELS = 4096
_TERM = re.compile(r"([+-]?)\s*([0-9.]*(?:[eE][+-]?[0-9]+)?)\s*([xyz])")
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([a-zA-Z]*)")
_EXPERIMENT = {
    "clen": ("distance_m", {"": 1.0, "m": 1.0, "mm": 1e-3}),
    "photon_energy": ("energy_kev", {"": 1e-3, "eV": 1e-3, "keV": 1.0, "MeV": 1e3}),
    "wavelength": ("energy_kev", {"m": 1e10, "A": 1.0}),
}
"""Key of the file: key of [detector], and the size of its units in that key's (of a wavelength in Å)."""
_ENERGIES = ("wavelength", "photon_energy", "electron_voltage")
_FARTHEST = 1e6  # pixels
_LEAST_AREA = 1e-3  # of a pixel, in pixels: its directions must not be parallel, or nothing


@dataclass
class Panel:
    """Describes a part of the image, rows top … bottom − 1 and columns left … right − 1. Corner and directions are in laboratory axes, in units of
    pixels."""

    name: str
    line: int
    values: dict[str, At] = field(default_factory=dict)  # key: line, text
    left: int = 0
    right: int = 0
    top: int = 0
    bottom: int = 0
    corner: tuple[float, float] = (0.0, 0.0)
    fs: tuple[float, float, float] = (1.0, 0.0, 0.0)
    ss: tuple[float, float, float] = (0.0, 1.0, 0.0)
    offset: float = 0.0  # along the beam, pixels
    resolution: tuple[int, float] | None = None  # line, pixels in a metre
    edge: int = 0  # pixels at its edges that are bad
    used: bool = True


@dataclass(frozen=True)
class Bad:
    """Describes a bad region: inclusive columns and rows of the image, or of the one panel that it names. Otherwise it gives ranges of x and y in the
    laboratory, which apply to the corner of a pixel, as in CrystFEL."""

    name: str
    line: int
    of_image: bool
    least: tuple[float, float]
    most: tuple[float, float]
    panel: str


@dataclass(frozen=True)
class Experiment:
    """Holds the experiment's numbers in a file, None for absent ones. `lines`: the line of each, by key of [detector]. `elsewhere`: by such a key,
    the file's text in place of a number, with its line."""

    distance_m: float | None = None
    energy_kev: float | None = None
    pixel_size_m: float | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    def said(self) -> dict[str, float]:
        """Return the numbers that the file has, by key of [detector]."""
        values = {key: getattr(self, key) for key in ("distance_m", "energy_kev", "pixel_size_m")}
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True)
class CrystfelGeometry:
    """Holds the content of a geometry file."""

    panels: list[Panel]
    bad: list[Bad]
    experiment: Experiment = Experiment()
    flags: tuple[ValueFlag, ...] = ()

    def radius(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return the distance of each pixel's centre from the beam, in pixels. It is NaN outside of panels, in bad regions, and in panels that are
        not used."""
        found = np.full(shape, np.nan)
        for panel in self.panels:
            x, y = _corners(panel)
            part = np.hypot(*(at + (panel.fs[axis] + panel.ss[axis]) / 2 for axis, at in enumerate((x, y))))
            part[self._bad_of(panel)] = np.nan
            found[panel.top : panel.bottom, panel.left : panel.right] = part
        return found

    def bad_pixels(self, shape: tuple[int, int]) -> NDArray[np.bool_]:
        """Return True for bad pixels of panels: in bad regions, at edges, and in panels that are not used."""
        found = np.zeros(shape, np.bool_)
        for panel in self.panels:
            found[panel.top : panel.bottom, panel.left : panel.right] = self._bad_of(panel)
        return found

    def _bad_of(self, panel: Panel) -> NDArray[np.bool_]:
        if not panel.used:
            return np.ones((panel.bottom - panel.top, panel.right - panel.left), np.bool_)
        found = _edge_pixels(panel)
        x, y = _corners(panel)
        for bad in self.bad:
            found |= _bad_pixels(bad, panel, x, y)
        return found

    def rectangles(self) -> NDArray[np.uint32]:
        """Return left, right, top, bottom of each used panel, in the order of the file."""
        return np.array([[p.left, p.right, p.top, p.bottom] for p in self.panels if p.used], np.uint32)


def _corners(panel: Panel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return x and y of the corner of each pixel."""
    column, row = np.arange(panel.right - panel.left), np.arange(panel.bottom - panel.top)[:, None]
    x, y = (panel.corner[axis] + column * panel.fs[axis] + row * panel.ss[axis] for axis in (0, 1))
    return x, y


def _edge_pixels(panel: Panel) -> NDArray[np.bool_]:
    edge = np.ones((panel.bottom - panel.top, panel.right - panel.left), np.bool_)
    edge[panel.edge : edge.shape[0] - panel.edge, panel.edge : edge.shape[1] - panel.edge] = False
    return edge


def _bad_pixels(bad: Bad, panel: Panel, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    if not bad.of_image:
        inside = (x > bad.least[0]) & (x < bad.most[0]) & (y > bad.least[1]) & (y < bad.most[1])
        return np.asarray(inside)
    if bad.panel and bad.panel != panel.name:
        return np.zeros(x.shape, np.bool_)
    column = np.arange(panel.left, panel.right)
    row = np.arange(panel.top, panel.bottom)[:, None]
    inside = (column >= bad.least[0]) & (column <= bad.most[0]) & (row >= bad.least[1]) & (row <= bad.most[1])
    return np.asarray(inside)


def read_crystfel_geometry(key: str, path: str, shape: tuple[int, int]) -> CrystfelGeometry:
    """Read the geometry for images of `shape` (rows, columns). Raise ValueError or OSError with a text that begins with key and file."""
    text = _text(key, path)
    try:
        found = _parse(lines_of(text))
        _check(found.panels, shape)
    except ValueError as error:
        raise ValueError(advised(f"{key}: {path}: {error}", "mend it there, or give another geometry")) from None
    return found


def read_stacked(key: str, path: str, module: tuple[int, int], most: int) -> CrystfelGeometry:
    """Read the geometry for images of all its modules of (rows, columns), stacked from top to bottom. Raise errors as `read_crystfel_geometry` does,
    and also for more than `most` modules."""
    text = _text(key, path)
    try:
        found = _parse(lines_of(text))
        rows = max(panel.bottom for panel in found.panels)
        if rows > most * module[0]:
            raise ValueError(
                f"its panels have {rows} rows: with modules of {module[0]} that is more than {most} of them"
            )
        _check(found.panels, (-(-rows // module[0]) * module[0], module[1]))
    except ValueError as error:
        raise ValueError(advised(f"{key}: {path}: {error}", "mend it there, or give another geometry")) from None
    return found


def read_experiment(key: str, path: str) -> Experiment:
    """Read the experiment of the file, for images of any shape. Raise ValueError or OSError with a text that begins with key and file."""
    return _parse(lines_of(_text(key, path))).experiment


def _text(key: str, path: str) -> str:
    return read_named_text(key, path, _MOST_BYTES, "is no text; give a CrystFEL geometry (.geom)")


def _parse(lines: Iterable[str]) -> CrystfelGeometry:
    defaults: dict[str, At] = {}
    fresh: dict[str, int] = {}  # defaults of which no panel knows yet, with their lines
    panels: dict[str, Panel] = {}
    regions: dict[str, dict[str, At]] = {}
    whole_file: dict[str, At] = {}
    flags: list[ValueFlag] = []
    for line, whole in enumerate(lines, start=1):
        said = whole.partition(";")[0].strip()
        if not said:
            continue
        name, equals, text = (part.strip() for part in said.partition("="))
        if not equals or not name or not text:
            raise ValueError(f'line {line}: "{said[:80]}" is no "key = value"')
        at = line, text
        owner, slash, inner = (part.strip() for part in name.rpartition("/"))
        if owner.startswith("bad"):
            regions.setdefault(owner, {})[inner] = at
            continue
        if not slash and keys.is_of_file(name):
            keys.check_of_file(name, at)
            whole_file[name] = at
            continue
        keys.check_of_panel(inner, at)
        if (flag := keys.flag_of(inner, at)) is not None:
            flags.append(flag)
        if not slash:
            defaults[inner] = at
            if inner in keys.EFFECT:
                fresh[inner] = line
            continue
        if owner not in panels:
            if len(panels) == _MOST_PANELS:
                raise ValueError(f"line {line}: more than {_MOST_PANELS} panels")
            panels[owner] = Panel(owner, line, dict(defaults))
            fresh.clear()
        panels[owner].values[inner] = at
    if not panels:
        raise ValueError("names no panel (p0/min_fs = …); give a CrystFEL geometry")
    _settle_all(panels.values(), fresh, whole_file)
    bad = [_region(name, values, panels) for name, values in regions.items()]
    found = list(panels.values())
    return CrystfelGeometry(found, bad, _experiment(whole_file, found), tuple(flags))


def _settle_all(panels: Iterable[Panel], fresh: Mapping[str, int], whole_file: Mapping[str, At]) -> None:
    for name, number in fresh.items():
        raise ValueError(f"line {number}: {name} stands behind all panels, where it has no effect; put it before them")
    for panel in panels:
        _settle(panel)
    keys.check_one_image((panel.name, panel.values) for panel in panels)
    _shift(panels, whole_file)


def _settle(panel: Panel) -> None:
    def needed(key: str) -> At:
        if key not in panel.values:
            raise ValueError(f"line {panel.line}: the panel {panel.name} has no {key}")
        return panel.values[key]

    panel.left, panel.top = (whole_of(key, needed(key)) for key in ("min_fs", "min_ss"))
    panel.right, panel.bottom = (whole_of(key, needed(key)) + 1 for key in ("max_fs", "max_ss"))
    if panel.right <= panel.left or panel.bottom <= panel.top:
        raise ValueError(f"line {panel.line}: the panel {panel.name} ends before it begins; look at min_fs … max_ss")
    panel.corner = (number_of("corner_x", needed("corner_x")), number_of("corner_y", needed("corner_y")))
    panel.fs = _direction("fs", panel.values.get("fs", (panel.line, "x")))
    panel.ss = _direction("ss", panel.values.get("ss", (panel.line, "y")))
    _check_place(panel)
    panel.resolution = _resolution(panel.values)
    if "coffset" in panel.values:
        panel.offset = _pixels(
            panel, "coffset", number_of("coffset", panel.values["coffset"]), panel.values["coffset"][0]
        )
    panel.edge = whole_of("mask_edge_pixels", panel.values.get("mask_edge_pixels", (panel.line, "0")))
    panel.used = not _flag("no_index", panel.values.get("no_index", (panel.line, "0")))
    _check_axes(panel)
    keys.check_masks(panel.values)


def _check_place(panel: Panel) -> None:
    for key, value in zip(("corner_x", "corner_y"), panel.corner, strict=True):
        if abs(value) > _FARTHEST:
            raise ValueError(
                f"line {panel.values[key][0]}: {key}: {value:g} is no place; give {_FARTHEST:g} pixels at most"
            )
    area = float(np.linalg.norm(np.cross(panel.fs, panel.ss)))
    if not _LEAST_AREA <= area <= 1 / _LEAST_AREA:
        line = panel.values.get("fs", panel.values.get("ss", (panel.line, "")))[0]
        raise ValueError(
            f"line {line}: fs, ss: pixels of the panel {panel.name} have an area of {area:g}; their directions are those of pixels, of about 1"
        )


def _check_axes(panel: Panel) -> None:
    """Check that the panel is in a two-dimensional image with the columns as fast axis. Raise ValueError."""
    axes = [(key, *at) for key, at in sorted(panel.values.items()) if key.startswith("dim")]
    for key, line, value in axes:
        if value not in ("%", "ss", "fs"):
            raise ValueError(
                f"line {line}: {key} = {value}: its panels lie in several planes of an array; images have rows and columns only"
            )
    order = [value for _, _, value in axes]
    for axis in ("ss", "fs") if axes else ():
        if axis not in order:
            raise ValueError(f"line {axes[-1][1]}: no axis of {axes[0][0]} … {axes[-1][0]} is {axis}; give all of them")
    if axes and order.index("ss") > order.index("fs"):
        key, line, value = axes[order.index("ss")]
        raise ValueError(
            f"line {line}: {key} = {value}: stands behind fs; the fast axis, fs, is the last one of an image"
        )


def _resolution(values: Mapping[str, At]) -> tuple[int, float] | None:
    """Return the line that gives a panel's resolution, and the resolution in pixels per metre; None without one."""
    for key in ("res", "pixel_pitch"):
        if key not in values:
            continue
        line, size = values[key][0], number_of(key, values[key])
        if size <= 0:
            what = "number of pixels in a metre" if key == "res" else "size of a pixel"
            raise ValueError(f"line {line}: {key}: {size:g} is no {what}")
        return line, size if key == "res" else 1 / size
    return None


def _pixels(panel: Panel, key: str, metres: float, line: int) -> float:
    """Return a length in metres as pixels of the panel. Raise ValueError when the panel has no resolution."""
    if panel.resolution is None and metres:
        raise ValueError(f"line {line}: {key} of the panel {panel.name} needs its res beside it")
    return metres * panel.resolution[1] if panel.resolution else 0.0


def _shift(panels: Iterable[Panel], values: Mapping[str, At]) -> None:
    """Move all panels by the detector shift that the file gives."""
    for axis, key in enumerate(SHIFTS):
        if key not in values:
            continue
        line, text = values[key]
        match = _QUANTITY.fullmatch(text)
        if match is None or match[2] not in ("", "m", "mm"):
            why = (
                "is a place in the data, which is not read for it"
                if text.startswith("/")
                else "is no length in m or mm"
            )
            raise ValueError(f'line {line}: {key}: "{text[:40]}" {why}; give a number, 1.5 mm')
        metres = number_of(key, (line, match[1])) * (1e-3 if match[2] == "mm" else 1)
        for panel in panels:
            corner = list(panel.corner)
            corner[axis] += _pixels(panel, key, metres, line)
            panel.corner = (corner[0], corner[1])
            _check_place(panel)


def _flag(key: str, at: At) -> bool:
    """Return the truth of a value by CrystFEL's rule: the word `true`, or any number but 0."""
    text = at[1].lower()
    return text == "true" if text in ("true", "false") else number_of(key, at) != 0


def _experiment(values: Mapping[str, At], panels: Iterable[Panel]) -> Experiment:
    """Return the numbers that hold for the whole file, and the pixel size if all panels share it."""
    found: dict[str, float] = {}
    lines: dict[str, int] = {}
    elsewhere: dict[str, str] = {}
    _check_one_energy(values)
    for name, (key, units) in _EXPERIMENT.items():
        if name not in values:
            continue
        line, text = values[name]
        if text.startswith("/"):
            elsewhere[key] = f"line {line}: {name}: {text[:60]} is a place in the data, which is not read for it"
            continue
        lines[key] = line
        amount = _amount(name, values[name], units)
        found[key] = HC_KEV_ANGSTROM / amount if name == "wavelength" else amount
    if "electron_voltage" in values:
        line = values["electron_voltage"][0]
        elsewhere["energy_kev"] = f"line {line}: electron_voltage: is of electrons, and files say the energy of photons"
    resolutions = {panel.resolution[1]: panel.resolution[0] for panel in panels if panel.resolution}
    if len(resolutions) == 1:
        ((resolution, line),) = resolutions.items()
        found["pixel_size_m"], lines["pixel_size_m"] = 1 / resolution, line
    return Experiment(**found, lines=lines, elsewhere=elsewhere)


def _check_one_energy(values: Mapping[str, At]) -> None:
    first, *others = sorted((values[name][0], name) for name in _ENERGIES if name in values) or [(0, "")]
    for line, name in others:
        raise ValueError(f"line {line}: {name} stands beside {first[1]} (line {first[0]}); leave one of them out")


def _amount(name: str, at: At, units: Mapping[str, float]) -> float:
    """Return the number in the unit of the key of [detector]."""
    line, text = at
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f'line {line}: {name}: "{text[:40]}" is neither a number with its unit nor a place in a file')
    size, unit = number_of(name, (line, match[1])), match[2]
    if unit not in units:
        what = f"the unit {unit} is not known" if unit else "has no unit"
        raise ValueError(f"line {line}: {name}: {what}; give one of {', '.join(filter(None, units))}")
    if size <= 0:
        raise ValueError(f"line {line}: {name}: {size:g} is not above 0")
    return size * units[unit]


def _direction(key: str, at: At) -> tuple[float, float, float]:
    number, text = at
    found = {"x": 0.0, "y": 0.0, "z": 0.0}
    end = 0
    for term in _TERM.finditer(text):
        if text[end : term.start()].strip():
            break
        size = number_of(key, (number, term[2])) if term[2] else 1.0
        found[term[3]] += -size if term[1] == "-" else size
        end = term.end()
    if text[end:].strip() or not any(found.values()):
        raise ValueError(f'line {number}: {key}: "{text[:60]}" is no direction such as "+1.0x -0.002y"')
    return found["x"], found["y"], found["z"]


def _region(name: str, values: dict[str, At], panels: dict[str, Panel]) -> Bad:
    line = min(number for number, _ in values.values())
    axes = ("fs", "ss") if any(key.endswith(("fs", "ss")) for key in values) else ("x", "y")
    known = {f"{end}_{axis}" for end in ("min", "max") for axis in axes}
    for key, (number, _) in values.items():
        if key not in known | {"panel"}:
            raise ValueError(f"line {number}: the key {key[:40]} of the region {name} is not known, or of other axes")
    for key in sorted(known - set(values)):
        raise ValueError(f"line {line}: the region {name} has no {key}")
    panel = values.get("panel", (line, ""))[1]
    if panel and panel not in panels:
        raise ValueError(
            f"line {values['panel'][0]}: the region {name} names the panel {panel[:40]}, which is not there"
        )
    read = whole_of if axes[0] == "fs" else number_of
    if panel and axes[0] == "x":
        raise ValueError(
            f"line {values['panel'][0]}: the region {name} has x and y of the laboratory, and names a panel; give it min_fs … max_ss, or no panel"
        )
    least, most = (tuple(read(f"{end}_{a}", values[f"{end}_{a}"]) for a in axes) for end in ("min", "max"))
    for axis, low, high in zip(axes, least, most, strict=True):
        if low > high:
            raise ValueError(
                f"line {values[f'min_{axis}'][0]}: the region {name} ends before it begins: min_{axis} {low:g}, max_{axis} {high:g}"
            )
    bad = Bad(name, line, axes[0] == "fs", (least[0], least[1]), (most[0], most[1]), panel)
    named = [panels[panel]] if panel else panels.values()
    if bad.of_image and not any(_touches(bad, one) for one in named):
        where = f"in the panel {panel}" if panel else "in any panel"
        raise ValueError(f"line {line}: the region {name} has no pixel {where}; look at min_fs … max_ss")
    return bad


def _touches(bad: Bad, panel: Panel) -> bool:
    first, last = (panel.left, panel.top), (panel.right - 1, panel.bottom - 1)
    return all(bad.least[i] <= last[i] and bad.most[i] >= first[i] for i in (0, 1))


def _check(panels: list[Panel], shape: tuple[int, int]) -> None:
    """Check that the panels fit images of that shape, and that no two overlap. Raise ValueError."""
    height, width = max(p.bottom for p in panels), max(p.right for p in panels)
    if (height, width) != shape:
        raise ValueError(f"is of images of {width} × {height} pixels; the images have {shape[1]} × {shape[0]}")
    owner = np.full(shape, -1, np.int16)  # _MOST_PANELS fit
    for number, panel in enumerate(panels):
        part = owner[panel.top : panel.bottom, panel.left : panel.right]
        if (part >= 0).any():
            row, column = np.argwhere(part >= 0)[0]
            other = panels[int(part[row, column])].name
            raise ValueError(
                f"line {panel.line}: the panels {other} and {panel.name} both have the pixel in row {panel.top + row}, column {panel.left + column}"
            )
        part[...] = number
    if not any(panel.used for panel in panels):
        raise ValueError("no_index takes all panels out")
