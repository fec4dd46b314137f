# SPDX-License-Identifier: Apache-2.0
"""Names the units of pixels in files of rashpa. It imports nothing, since plans use the names, too."""

RAW_WORDS = "raw words"
"""The units of a JUNGFRAU's pixels, a gain and a number of its converter, before the kernel jungfrau."""
PHOTONS, KEV = "photons", "keV"
KNOWN = ("", RAW_WORDS, PHOTONS, KEV)
"""Empty: as a detector has sent them, and nobody says more."""


def is_made(units: str) -> bool:
    """Return True when pixels of these units come from a kernel, or a kernel has read them as counts."""
    return units not in ("", RAW_WORDS)
