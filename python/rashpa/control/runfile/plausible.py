# SPDX-License-Identifier: Apache-2.0
"""Finds values of a run file that are possible but unlikely: most often they are meant in another unit."""

from collections.abc import Iterator
from dataclasses import dataclass

from rashpa.control.runfile.run_file import RunFile
from rashpa.control.runfile.run_file_reader import RunFileSource


@dataclass(frozen=True)
class _Range:
    """Describes the plausible values of a key in its unit, and the units that users give by mistake, with their sizes in the key's own unit."""

    least: float
    most: float
    unit: str
    others: tuple[tuple[str, float], ...]


_ENERGY = _Range(0.1, 1000.0, "keV", (("eV", 1e-3), ("MeV", 1e3)))
_DETECTOR = {
    "energy_kev": _ENERGY,
    "distance_m": _Range(1e-3, 60.0, "m", (("mm", 1e-3), ("cm", 1e-2))),
    "pixel_size_m": _Range(1e-7, 2e-3, "m", (("µm", 1e-6), ("mm", 1e-3))),
    "sensor_thickness_m": _Range(1e-6, 2e-2, "m", (("µm", 1e-6), ("mm", 1e-3))),
    "count_time_s": _Range(0.0, 3600.0, "s", (("ms", 1e-3), ("µs", 1e-6))),
}


def plausibility_cautions(file: RunFile, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each value outside of its plausible range, with the unit that may be meant."""
    for key, range_ in _DETECTOR.items():
        yield from _caution(source.where(("detector", key)), getattr(file.detector, key), range_)
    if (energy := getattr(file.dataset, "energy_kev", None)) is not None:
        yield from _caution(source.where(("dataset", "energy_kev")), energy, _ENERGY)
    if (calibration := file.detector.calibration) is not None:
        where = source.where(("detector", "calibration", "photon_energy_kev"))
        yield from _caution(where, calibration.photon_energy_kev, _ENERGY)
    for number, buffer in enumerate(file.buffer):
        for place, kernel in enumerate(buffer.kernel):
            if (energy := getattr(kernel, "photon_energy_kev", None)) is not None:
                where = source.where(("buffer", number, "kernel", place, "photon_energy_kev"))
                yield from _caution(where, energy, _ENERGY)


def _caution(where: str, value: float, range_: _Range) -> Iterator[str]:
    if range_.least <= value <= range_.most:
        return
    meant = next((one for one in range_.others if range_.least <= value * one[1] <= range_.most), None)
    hint = f"; is it in {meant[0]}? Then write {value * meant[1]:.6g}" if meant else "; look at its unit"
    yield f"{where}: {value:.6g} {range_.unit} is hardly meant{hint}"
