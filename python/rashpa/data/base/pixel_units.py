# SPDX-License-Identifier: Apache-2.0
"""Names of the units of pixels, as files of rashpa have them. Imports nothing: plans know them, too."""

RAW_WORDS = "raw words"
"""The units of a JUNGFRAU's pixels, a gain and a number of its converter, before the kernel jungfrau."""
PHOTONS, KEV = "photons", "keV"
KNOWN = ("", RAW_WORDS, PHOTONS, KEV)
"""Empty: as a detector has sent them, and nobody says more."""


def is_made(units: str) -> bool:
    """Return True when a kernel has made pixels of these units, or looked at them as counts."""
    return units not in ("", RAW_WORDS)
