# SPDX-License-Identifier: Apache-2.0
"""Checks special values of a detector's pixels: whether pixels can hold them, and the largest count. It agrees with
src/rashpa/core/image/special_value.cpp."""

from collections.abc import Iterator

from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.runfile.run_file import Detector

_LIMITS = {
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
}


def largest_count(detector: Detector) -> int | None:
    """Return the largest count that the detector sends, None when it is the largest value of its pixels."""
    positive = [one.value for one in detector.special if one.value > 0]
    return min(positive) - 1 if positive else None


def counts_of(detector: Detector) -> tuple[int, int] | None:
    """Return the least and the largest value of a pixel with a count, None for float32, whose pixels without a count are NaN."""
    if detector.pixel not in _LIMITS:
        return None
    least, most = _LIMITS[detector.pixel]
    if detector.masked == "minimum":
        return least + 1, most
    most = most if least else most - 1
    largest = largest_count(detector)
    return 0, most if largest is None else min(most, largest)


def saturated_value(detector: Detector) -> int | None:
    """Return the value of a pixel with more counts than it can hold: the special value that says so, otherwise the largest value of the type; None for
    float32."""
    if detector.pixel not in _LIMITS:
        return None
    return next((one.value for one in detector.special if one.meaning == "saturated"), _LIMITS[detector.pixel][1])


def problems_of(detector: Detector) -> Iterator[tuple[KeyPath, str]]:
    """Yield each fault with its key."""
    if detector.masked == "minimum":
        if detector.pixel not in ("int16", "int32"):
            yield (
                ("detector", "masked"),
                f"minimum, and {detector.pixel} pixels have no sign; leave detector.masked out",
            )
        elif detector.special:
            yield ("detector", "masked"), "minimum, and detector.special names values besides; leave one of the two out"
    seen: set[int] = set()
    for number, one in enumerate(detector.special):
        path: KeyPath = ("detector", "special", number, "value")
        if detector.pixel not in _LIMITS:
            yield path, f"{detector.pixel} pixels that hold no measurement are NaN; leave detector.special out"
            return
        least, most = _LIMITS[detector.pixel]
        if not least <= one.value <= most:
            yield (
                path,
                f"{one.value} is nothing that {detector.pixel} pixels hold, {least} to {most}; set detector.pixel, or another value",
            )
        if one.value == 0:
            yield path, "0; a pixel without photons counts 0, name the value that the detector sends"
        if one.value in seen:
            yield path, f"{one.value} is there twice; leave one out"
        seen.add(one.value)
