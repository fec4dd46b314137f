# SPDX-License-Identifier: Apache-2.0
"""The temperature of a machine, from files in the kernel's form."""

from pathlib import Path

import pytest

from rashpa.node.host.temperature import temperature_c


@pytest.mark.parametrize(
    ("sensors", "wanted"),
    [
        ({}, None),
        ({"thermal/thermal_zone0/temp": "45000\n"}, 45.0),
        ({"thermal/thermal_zone0/temp": "45000\n", "hwmon/hwmon1/temp2_input": "61500\n"}, 61.5),
        ({"thermal/thermal_zone0/temp": "-274000\n", "thermal/thermal_zone1/temp": "255000"}, None),
        ({"thermal/thermal_zone0/temp": "", "hwmon/hwmon0/temp1_input": "hot"}, None),
        ({"hwmon/hwmon0/temp1_max": "99000\n"}, None),
    ],
)
def test_it_is_the_highest_that_can_be_one(tmp_path: Path, sensors: dict[str, str], wanted: float | None) -> None:
    for name, text in sensors.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert temperature_c(tmp_path) == wanted


def test_a_sensor_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "hwmon/hwmon0/temp1_input").mkdir(parents=True)
    assert temperature_c(tmp_path) is None
