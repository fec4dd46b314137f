# SPDX-License-Identifier: Apache-2.0
"""Reads the temperature of the machine from its kernel. It works on Linux only; virtual machines have no sensors."""

import contextlib
import itertools
from pathlib import Path

_SYSTEM = Path("/sys/class")
_PATTERNS = ("thermal/thermal_zone*/temp", "hwmon/hwmon*/temp*_input")
_MOST = 64  # sensors of a kind
_PLAUSIBLE_C = (-40.0, 150.0)  # a sensor that is not connected says something else


def temperature_c(system: Path = _SYSTEM) -> float | None:
    """Return the highest temperature of all sensors in °C, None without a sensor."""
    found: list[float] = []
    for pattern in _PATTERNS:
        for path in itertools.islice(system.glob(pattern), _MOST):
            with contextlib.suppress(OSError, ValueError):
                value = int(path.read_text()[:16]) / 1000
                if _PLAUSIBLE_C[0] < value < _PLAUSIBLE_C[1]:
                    found.append(value)
    return max(found, default=None)
