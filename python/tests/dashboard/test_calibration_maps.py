# SPDX-License-Identifier: Apache-2.0
"""The calibration of a run as pictures: the maps of a module, their files and ages."""

import base64
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.dashboard.calibration.maps import CalibrationError, age_of, shown_calibration

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
RUN = """\
[run]
name = "calibrated"
frames = 10
[detector]
width = 1024
height = 512
{calibration}
module = [{{ x = 0, y = 0 }}, {{ x = 0, y = 520 }}]
[dataset]
kind = "{kind}"
modules = 2
{size}
[receiver]
port = 0
[[buffer]]
name = "full"
{kernels}
[[buffer.sink]]
kind = "null"
"""
JUNGFRAU = '[[buffer.kernel]]\nname = "jungfrau"\nphoton_energy_kev = 12.4'


def _plan(folder: Path, kernels: str = JUNGFRAU, calibration: str = "", kind: str = "jungfrau") -> Plan:
    file = folder / "run.toml"
    size = "" if kind == "jungfrau" else "width = 1024\nheight = 512"
    file.write_text(RUN.format(kernels=kernels, calibration=calibration, kind=kind, size=size))
    return load_plan(file)


def test_maps_have_pictures_and_words(tmp_path: Path) -> None:
    facts, pictures = shown_calibration(_plan(tmp_path), 1, NOW)
    assert [fact.name for fact in facts] == ["pedestal_1", "gain_1", "mask_1"]
    assert facts[0].text == "computed: dataset jungfrau"
    assert [one.text.partition(":")[0] for one in pictures] == [
        f"{what} G{gain} of module 1" for what in ("pedestal", "gain") for gain in range(3)
    ]
    assert all(base64.b64decode(one.png).startswith(b"\x89PNG") for one in pictures)


def test_a_file_has_its_age_and_a_map_its_median(tmp_path: Path) -> None:
    for name, value in (("pedestal", 1234.0), ("gain", 41.5)):
        for module in (0, 1):
            np.save(tmp_path / f"{name}{module}.npy", np.full((3, 512, 1024), value + module, np.float32))
    old = (NOW - timedelta(days=9)).timestamp()
    os.utime(tmp_path / "pedestal1.npy", (old, old))
    section = 'calibration = { pedestal = ["pedestal0.npy", "pedestal1.npy"], gain = ["gain0.npy", "gain1.npy"], gain_unit = "adu_per_kev" }'
    facts, pictures = shown_calibration(_plan(tmp_path, calibration=section), 1, NOW)
    assert facts[0].text == f"{tmp_path / 'pedestal1.npy'}, changed 9 days ago"
    assert pictures[0].text.startswith("pedestal G0 of module 1: median 1235 ADU")
    assert pictures[3].text.startswith("gain G0 of module 1: median 42.5 ADU/keV")
    (tmp_path / "gain1.npy").write_bytes(b"nothing")
    with pytest.raises(CalibrationError, match=r"gain1\.npy"):
        shown_calibration(_plan(tmp_path, calibration=section), 1, NOW)


def test_why_there_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="no kernel of this run uses a calibration"):
        shown_calibration(_plan(tmp_path, "", kind="pattern"), 0, NOW)
    with pytest.raises(CalibrationError, match="module 2 has none; there are 2"):
        shown_calibration(_plan(tmp_path), 2, NOW)


def test_pedestals_that_follow_darks_have_curves(tmp_path: Path) -> None:
    facts, _ = shown_calibration(_plan(tmp_path, JUNGFRAU + '\ntrack = "darks"'), 0, NOW)
    assert "pedestal_drift" in facts[-1].text


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (timedelta(days=9), "9 days"),
        (timedelta(hours=30), "30.0 h"),
        (timedelta(minutes=5), "5 min"),
        (timedelta(-1), "0 min"),
    ],
)
def test_an_age_has_a_unit_that_fits(age: timedelta, text: str) -> None:
    assert age_of(NOW - age, NOW) == text
