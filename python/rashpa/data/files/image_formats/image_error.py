# SPDX-License-Identifier: Apache-2.0
"""The error of image files."""

import re

from rashpa.data.base.rashpa_error import RashpaError


class ImageError(RashpaError, ValueError):
    """Reports a file that is damaged, or of a kind that is not read; the text says what, without the file's name."""


def whole_number(text: str, named: str) -> int:
    """Read a count of a header. Raise ImageError that begins with `named` when the text is none."""
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise ImageError(f"{named} {text[:40]!r}, which is no number; it is damaged")
    return int(text)
