# SPDX-License-Identifier: Apache-2.0
"""Defines the error of image files."""

import re

from rashpa.data.base.rashpa_error import RashpaError


class ImageError(RashpaError, ValueError):
    """Reports a file that is damaged, or in a format that is not read. The text names the fault, not the file."""


def whole_number(text: str, named: str) -> int:
    """Return the count in a header. Raise ImageError that begins with `named` when the text is no whole number."""
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise ImageError(f"{named} {text[:40]!r}, which is no number; it is damaged")
    return int(text)
