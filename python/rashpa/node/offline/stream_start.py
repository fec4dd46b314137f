# SPDX-License-Identifier: Apache-2.0
"""Reads the description of the experiment in a start message, checks it against the images, and writes it into the files. Nothing is invented, and
omissions are reported."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.control.nodes.version import software_version
from rashpa.data.geometry.laboratory import HC_KEV_ANGSTROM, Plane
from rashpa.data.stream.stream2 import Start, StreamError, date_of, text_of
from rashpa.data.stream.stream_regions import ModuleRegion, Region, modules_of
from rashpa.node.engine.series_facts import write_detector

Values = dict[str, bool | int | float | str]
_DETECTOR = "entry/instrument/detector"
_BEAM = "entry/instrument/beam"
_NUMBERS = {
    "beam_center_x": (f"{_DETECTOR}/beam_center_x",),
    "beam_center_y": (f"{_DETECTOR}/beam_center_y",),
    "count_time": (f"{_DETECTOR}/count_time",),
    "frame_time": (f"{_DETECTOR}/frame_time",),
    "pixel_size_x": (f"{_DETECTOR}/x_pixel_size",),
    "pixel_size_y": (f"{_DETECTOR}/y_pixel_size",),
    "sensor_thickness": (f"{_DETECTOR}/sensor_thickness",),
}
"""A field of the start, and where files have it: not a number where the start does not say it."""
_USUAL = (
    *_NUMBERS,
    "detector_translation",
    "incident_wavelength",
    "sensor_material",
    "detector_description",
)
_WAVELENGTH_OF_EV = 1e3 * HC_KEV_ANGSTROM


@dataclass(frozen=True)
class ChannelFacts:
    """Holds the facts of one channel. `troubles`: arrays that belong into the files but cannot be stored; `notes`: facts that are absent or
    contradict each other."""

    mask: NDArray[np.uint32] | None = None
    flatfield: NDArray[np.float32] | None = None
    threshold_ev: float | None = None
    troubles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    shape: tuple[int, int] | None = None  # rows, columns
    fields: Mapping[str, Any] = field(default_factory=dict, repr=False)


def channel_facts(start: Start | None, channel: str, first: NDArray[Any]) -> ChannelFacts:
    """Check the start message against the first image of a channel; return the channel's facts."""
    if start is None:
        return ChannelFacts()
    troubles: list[str] = []

    def fitting(name: str, read: Callable[[str], NDArray[Any] | None]) -> NDArray[Any] | None:
        try:
            found = read(channel)
        except StreamError as error:
            troubles.append(f"channel {channel}: {error}; it is not in the files")
            return None
        if found is None or found.shape == first.shape:
            return found
        sides, due = (f"{shape[1]} × {shape[0]}" for shape in (found.shape, first.shape))
        troubles.append(f"channel {channel}: its {name} has {sides} pixels, its images {due}; it is not in the files")
        return None

    mask, flatfield = fitting("pixel_mask", start.mask), fitting("flatfield", start.flatfield)
    notes = [*_contradictions(start, channel, first), *_unsaid(start)]
    return ChannelFacts(
        mask,
        flatfield,
        start.of_channel("threshold_energy", channel),
        tuple(troubles),
        tuple(notes),
        (first.shape[0], first.shape[1]),
        start.fields,
    )


def _contradictions(start: Start, channel: str, first: NDArray[Any]) -> Iterator[str]:
    said = start.fields.get("image_dtype")
    if isinstance(said, str) and said != first.dtype.name:
        yield f"channel {channel}: its pixels are {first.dtype.name}, and image_dtype says {text_of(said, 32)}"
    energy, wavelength = start.number("incident_energy"), start.number("incident_wavelength")
    if energy > 0 and wavelength > 0 and not math.isclose(energy * wavelength, _WAVELENGTH_OF_EV, rel_tol=1e-2):
        yield f"incident_energy {energy:g} eV is not that of incident_wavelength {wavelength:g} Å; the files have the wavelength"
    for name in (*_NUMBERS, "incident_energy", "incident_wavelength", "saturation_value"):
        if start.fields.get(name) is not None and not start.has_number(name):
            yield f"{name} of the start is no number; it is not in the files"
    if start.fields.get("detector_translation") is not None and _translation(start) is None:
        yield "detector_translation of the start is no three numbers; it is not in the files"


def _unsaid(start: Start) -> Iterator[str]:
    names = [name for name in _USUAL if start.fields.get(name) is None]
    if "incident_wavelength" in names and start.number("incident_energy") > 0:
        names.remove("incident_wavelength")
    if date_of(start.fields.get("arm_date")) is None:
        yield "the start does not say arm_date: start_time of the files is when the first image came"
    if names:
        yield f"the start does not say {', '.join(names)}: the files have no value for it"


def metadata_of(start: Start | None, facts: ChannelFacts, series: tuple[int, str]) -> _native.NxmxMetadata:
    """Return the facts of the experiment in the form of the file writer."""
    user: Mapping[str, Any] = start.user_data if start else {}
    depth = user.get("bit_depth_readout")
    values: Values = {
        "software_version": software_version(),
        "proof": "as the sender of the stream says",
        "bit_depth_readout": depth if type(depth) is int and 0 < depth <= 64 else 0,
        "run_number": series[0] & 0xFFFFFFFF,
        "run_name": series[1],
        "run_id": hashlib.sha256(repr(series).encode()).hexdigest()[:32],
    }
    if start is None:
        return _native.NxmxMetadata(values)
    named = start.text("detector_description")
    values |= {
        "detector_name": named,
        "description": named,
        "start_time": _date(start.fields.get("arm_date")),
        "energy_kev": start.number("incident_energy") / 1e3,
        "wavelength_angstrom": start.number("incident_wavelength"),
        "distance_m": (_translation(start) or (0.0, 0.0, 0.0))[2],
        "sensor_material": start.text("sensor_material"),
        "sensor_thickness_m": start.number("sensor_thickness"),
        "pixel_size_m": start.number("pixel_size_x"),
        "saturation_value": start.number("saturation_value"),
        "count_time_s": start.number("count_time"),
        "frame_time_s": start.number("frame_time"),
        **{name: start.number(name) for name in ("beam_center_x", "beam_center_y")},
        **{name: text_of(user.get(name)) for name in ("instrument_name", "source_name", "sample_name", "pixel_units")},
    }
    if run := text_of(user.get("run_name")):
        values["run_name"] = run
    metadata = _native.NxmxMetadata(values)
    labels = user.get("labels")
    metadata.labels = [text_of(one) for one in labels[:64]] if isinstance(labels, list) else []
    if facts.mask is not None:
        metadata.pixel_mask = facts.mask
    if facts.shape is not None:
        modules = modules_of(user, *facts.shape) or _whole(start, *facts.shape)
        metadata.modules = [_module(one) for one in modules]
    return metadata


def _whole(start: Start, height: int, width: int) -> list[ModuleRegion]:
    """Return the image as one module, from the pixel size and the beam. Without a beam, the corner of the image is the origin; without a pixel size,
    return nothing. Pixels are square when only one side is given."""
    x, y, across, down = (
        start.number(name) for name in ("beam_center_x", "beam_center_y", "pixel_size_x", "pixel_size_y")
    )
    if not across > 0:
        return []
    down = down if down > 0 else across
    away = _translation(start) or (
        0.0,
        0.0,
        0.0,
    )  # of the detector as a whole, along which the beam stays where it is said
    plane = Plane((-away[0], -away[1], 0.0), (-across, 0.0, 0.0), (0.0, -down, 0.0)).starting((-x, -y))
    return [ModuleRegion("module_0", 0, 0, width, height, plane)]


def _module(region: ModuleRegion) -> _native.NxmxModule:
    module = _native.NxmxModule()
    for name in ("name", "x", "y", "width", "height"):
        setattr(module, name, getattr(region, name))
    for name in ("corner", "fast", "slow"):
        setattr(module, name, list(getattr(region.plane, name)))
    return module


def dtp_of(region: Region) -> _native.NxmxDtp:
    """Return a region in the form of the file writer."""
    dtp = _native.NxmxDtp()
    for name in ("id", "module", "x", "y", "width", "height"):
        setattr(dtp, name, getattr(region, name))
    dtp.orientation = _native.Orientation(region.turn, region.flip)
    dtp.line_rows = list(region.line_rows)
    return dtp


def write_facts(file: h5py.File, start: Start | None, facts: ChannelFacts) -> None:
    """Add facts that the file writer does not know to a complete master. Remove values that the start message did not give. Raise OSError."""
    detector = file[_DETECTOR]
    _put_unknown(file, start)
    if start is None:
        return
    write_detector(file, start, facts.threshold_ev, facts.flatfield)
    if isinstance(start.fields.get("pixel_mask_enabled"), bool):
        detector["pixel_mask_applied"] = np.int8(start.fields["pixel_mask_enabled"])
    translation = _translation(start)
    length = math.hypot(*translation) if translation else 0.0
    if translation and length > 0 and (translation[0] or translation[1]):
        axis = detector["transformations/translation"]
        axis[()] = length
        axis.attrs["vector"] = np.array(translation) / length


def _put_unknown(file: h5py.File, start: Start | None) -> None:
    """Replace 0 by NaN where the start message gave no value, since 0 looks like a measurement."""
    unknown = [path for name, paths in _NUMBERS.items() if not (start and start.has_number(name)) for path in paths]
    if not (start and _translation(start)):
        unknown += [f"{_DETECTOR}/distance", f"{_DETECTOR}/transformations/translation"]
    if not start or (start.number("incident_wavelength") <= 0 and start.number("incident_energy") <= 0):
        unknown.append(f"{_BEAM}/incident_wavelength")
    for path in unknown:
        if path in file:
            file[path][()] = np.nan
    if not (start and start.has_number("pixel_size_x")):
        for part in (one for one in file[_DETECTOR].values() if one.attrs.get("NX_class") == "NXdetector_module"):
            for name in ("fast_pixel_direction", "slow_pixel_direction"):
                part[name][()] = np.nan if not part[name][()] else part[name][()]
    if start and start.has_number("pixel_size_y"):
        file[f"{_DETECTOR}/y_pixel_size"][()] = start.number("pixel_size_y")
    sizes = [file[f"{_DETECTOR}/{name}_pixel_size"][()] for name in "yx"]
    if f"{_DETECTOR}/detectorSpecific/pixel_size" in file:
        file[f"{_DETECTOR}/detectorSpecific/pixel_size"][()] = sizes


def _translation(start: Start) -> tuple[float, float, float] | None:
    said = start.fields.get("detector_translation")
    if not isinstance(said, list | tuple) or len(said) != 3:
        return None
    if not all(isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one) for one in said):
        return None
    x, y, z = (float(one) for one in said)
    return x, y, z


def _date(value: object) -> str:
    """Return the date in UTC, empty when `value` is no date."""
    date = date_of(value)
    return "" if date is None else date.isoformat().replace("+00:00", "Z")
