# SPDX-License-Identifier: Apache-2.0
"""Lists the units of NeXus fields, with all names that programs use for them, and their sizes."""

from collections.abc import Mapping

from rashpa.data.geometry.laboratory import HC_KEV_ANGSTROM

Units = Mapping[str, float]
"""Size by name; the empty name is that of a field without units, where such a one is taken."""

_LENGTHS = {
    1.0: "m metre metres meter meters",
    1e-2: "cm centimetre centimetres centimeter centimeters",
    1e-3: "mm millimetre millimetres millimeter millimeters",
    1e-6: "um µm μm micron microns micrometre micrometres micrometer micrometers",
    1e-9: "nm nanometre nanometres nanometer nanometers",
    1e-10: "angstrom angstroms Angstrom Angstroms ANGSTROM A Å Å ang",
    1e-12: "pm picometre picometres picometer picometers",
}
_TIMES = {
    1.0: "s sec second seconds",
    1e-3: "ms millisecond milliseconds",
    1e-6: "us µs μs microsecond microseconds",
    1e-9: "ns nanosecond nanoseconds",
}


def _by_name(names: Mapping[float, str]) -> dict[str, float]:
    return {name: size for size, words in names.items() for name in words.split()}


LENGTHS: Units = _by_name(_LENGTHS) | {"": 1.0}
"""Sizes of units in metres."""
PIXELS: Units = {**dict.fromkeys(("pixel", "pixels", "px", ""), 1.0)}
TIMES: Units = _by_name(_TIMES) | {"": 1.0}
"""Sizes of units in seconds."""
ENERGIES: Units = _by_name({1.0: "keV kev KeV kiloelectronvolt", 1e-3: "eV ev electronvolt", 1e3: "MeV"}) | {
    "J": 1 / 1.602176634e-16
}
"""Sizes of units in keV. Without units an energy may be anything: files have eV and keV."""
WAVELENGTHS: Units = {name: size * 1e10 for name, size in _by_name(_LENGTHS).items()} | {"": 1.0}
"""Sizes of units in Å."""


def energy_of(wavelength: float) -> float:
    """Return the photon energy in keV for a wavelength in Å."""
    return HC_KEV_ANGSTROM / wavelength
