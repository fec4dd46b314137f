# SPDX-License-Identifier: Apache-2.0
"""Units of fields have the right size under every name that programs give them."""

import pytest

from rashpa.data.stored.units_of_fields import ENERGIES, LENGTHS, PIXELS, TIMES, WAVELENGTHS, energy_of


@pytest.mark.parametrize(
    ("name", "metres"),
    [("", 1), ("m", 1), ("mm", 1e-3), ("µm", 1e-6), ("μm", 1e-6), ("um", 1e-6), ("Angstrom", 1e-10), ("pm", 1e-12)],
)
def test_lengths_are_in_metres_and_wavelengths_in_angstrom(name: str, metres: float) -> None:
    assert LENGTHS[name] == metres
    assert WAVELENGTHS[name] == (pytest.approx(metres * 1e10) if name else 1.0)


@pytest.mark.parametrize(("name", "kev"), [("keV", 1), ("eV", 1e-3), ("MeV", 1e3), ("J", 6.241509074460763e15)])
def test_energies_are_in_kev_and_need_a_unit(name: str, kev: float) -> None:
    assert ENERGIES[name] == pytest.approx(kev)
    assert "" not in ENERGIES


def test_times_are_in_seconds_and_pixels_are_one() -> None:
    assert [TIMES[name] for name in ("s", "ms", "us", "ns", "")] == [1, 1e-3, 1e-6, 1e-9, 1]
    assert set(PIXELS.values()) == {1.0}


def test_a_wavelength_of_one_angstrom_is_12_4_kev() -> None:
    assert energy_of(1.0) == pytest.approx(12.3984198)
    assert energy_of(2.0) == pytest.approx(6.1992099)
