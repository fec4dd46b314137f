# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the experiment in foreign files, in every unit and at every place that writers use."""

import itertools
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from rashpa.data.stored.source_facts import SourceFacts, read_source_facts
from rashpa.data.stored.stored_piece import Reading
from rashpa.testing.foreign_nxmx import COLUMNS, ROWS, foreign, put

DETECTOR = "entry/instrument/detector"
BEAM = "entry/instrument/beam"
Change = Callable[[h5py.File], None]


def facts(folder: Path, *changes: Change) -> SourceFacts:
    def change(file: h5py.File) -> None:
        for one in changes:
            one(file)

    return read_source_facts(foreign(folder / "f.h5", change), (ROWS, COLUMNS), Reading())


def without(path: str) -> Change:
    def change(file: h5py.File) -> None:
        del file[path]

    return change


def wavelength(value: object, units: str | None) -> Change:
    return put(f"{BEAM}/incident_wavelength", value, **({} if units is None else {"units": units}))


def energy(value: object, units: str | None) -> Change:
    return put(f"{BEAM}/incident_energy", value, **({} if units is None else {"units": units}))


@pytest.mark.parametrize(
    ("change", "kev"),
    [
        (wavelength(1.5, "angstrom"), 8.26561),
        (wavelength(1.5, "Angstroms"), 8.26561),
        (wavelength(1.5, "Å"), 8.26561),
        (wavelength(0.15, "nm"), 8.26561),
        (wavelength(150.0, "pm"), 8.26561),
        (wavelength(1.5e-10, "m"), 8.26561),
        (wavelength(1.5, None), 8.26561),
        (wavelength(np.full(4, 1.5), "angstrom"), 8.26561),
        (energy(9.0, "keV"), 9.0),
        (energy(9000.0, "eV"), 9.0),
        (energy(9e3 * 1.602176634e-19, "J"), 9.0),
        (energy(np.full((4, 1), 9000.0), "eV"), 9.0),
    ],
)
def test_energies_and_wavelengths_in_every_unit(tmp_path: Path, change: Change, kev: float) -> None:
    only = without(f"{BEAM}/incident_wavelength")
    found = facts(tmp_path, only, change)
    assert found.values["energy_kev"] == pytest.approx(kev, rel=1e-5)
    assert found.notes == ()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (energy(12.4, None), "incident_energy: it has no units"),
        (energy(12.4, "furlong"), "incident_energy: the unit 'furlong' is not known"),
        (energy([9.0, 9.5], "keV"), "incident_energy: goes from 9 to 9.5"),
        (energy(9e12, "keV"), "photons of 9e+12 keV are none of a detector"),
        (wavelength([1.0, 1.1], "angstrom"), "incident_wavelength: goes from 1 to 1.1"),
    ],
)
def test_what_cannot_be_known_is_a_note_and_no_value(tmp_path: Path, change: Change, says: str) -> None:
    found = facts(tmp_path, without(f"{BEAM}/incident_wavelength"), change)
    assert "energy_kev" not in found.values
    assert says in " ".join(found.notes)


def test_an_energy_that_is_not_that_of_the_wavelength_is_said(tmp_path: Path) -> None:
    found = facts(tmp_path, wavelength(1.0, "angstrom"), energy(9.0, "keV"))
    assert found.values["energy_kev"] == 9.0
    assert "incident_energy is 9 keV, and incident_wavelength is that of 12.3984 keV" in " ".join(found.notes)


def test_older_writers_have_their_own_places(tmp_path: Path) -> None:
    mask = np.zeros((ROWS, COLUMNS), np.uint32)
    mask[1, 2] = 16
    found = facts(
        tmp_path,
        without(f"{BEAM}/incident_wavelength"),
        without(f"{DETECTOR}/distance"),
        without(f"{DETECTOR}/pixel_mask"),
        without(f"{DETECTOR}/saturation_value"),
        put(f"{DETECTOR}/detector_distance", 0.5, units="m"),
        put(f"{DETECTOR}/detectorSpecific/photon_energy", 9000.0, units="eV"),
        put(f"{DETECTOR}/detectorSpecific/pixel_mask", mask),
        put(f"{DETECTOR}/detectorSpecific/saturation_value", 700),
    )
    values = [found.values[key] for key in ("distance_m", "energy_kev", "saturation_value")]
    assert values == pytest.approx([0.5, 9.0, 700])
    assert found.mask is not None
    assert np.argwhere(found.mask).tolist() == [[1, 2]]
    of_sample = facts(
        tmp_path,
        without(f"{BEAM}/incident_wavelength"),
        put("entry/sample/beam/incident_wavelength", 1.0, units="angstrom"),
    )
    assert of_sample.values["energy_kev"] == pytest.approx(12.39842)


@pytest.mark.parametrize(
    ("unit", "value"), [("pixel", 20.0), ("pixels", 20.0), ("px", 20.0), ("", 20.0), ("mm", 3.44), ("m", 3.44e-3)]
)
def test_beam_centres_in_pixels_and_as_lengths(tmp_path: Path, unit: str, value: float) -> None:
    changes = [
        put(f"{DETECTOR}/beam_center_x", value, units=unit),
        put(f"{DETECTOR}/y_pixel_size", 0.1, units="mm"),
        put(f"{DETECTOR}/beam_center_y", 0.5, units="mm"),
    ]
    found = facts(tmp_path, *changes)
    assert found.values["beam_center_x"] == pytest.approx(20.0)
    assert found.values["beam_center_y"] == pytest.approx(5.0), "by the height of a pixel"
    assert "pixels are 0.000172 m wide and 0.0001 m high" in " ".join(found.notes)


LENGTHS = {
    "m": 0.25,
    "metres": 0.25,
    "mm": 250.0,
    "millimeter": 250.0,
    "cm": 25.0,
    "µm": 250e3,
    "μm": 250e3,
    "micron": 250e3,
}
TIMES = {"s": 2e-3, "seconds": 2e-3, "ms": 2.0, "us": 2e3, "µs": 2e3, "ns": 2e6}


@pytest.mark.parametrize(("length", "time"), list(itertools.zip_longest(LENGTHS, TIMES, fillvalue="s")))
def test_lengths_and_times_in_every_unit(tmp_path: Path, length: str, time: str) -> None:
    found = facts(
        tmp_path,
        put(f"{DETECTOR}/distance", LENGTHS[length], units=length),
        put(f"{DETECTOR}/count_time", TIMES[time], units=time),
    )
    assert found.values["distance_m"] == pytest.approx(0.25)
    assert found.values["count_time_s"] == pytest.approx(2e-3)
    assert found.notes == ()
