# SPDX-License-Identifier: Apache-2.0
"""Makes small pictures of past runs from the images in their reports."""

import base64
import binascii
import io
import re
from collections import OrderedDict

from PIL import Image, UnidentifiedImageError

_SIDE = 96  # pixels of the longer one
_MOST = 200  # pictures that are kept
_MOST_PIXELS = 1 << 25  # of a picture in a report: it may be anybody's file
_MOST_TEXT = 1 << 25
# the image of the run is the newest accepted one, where there is one
_PICTURE = re.compile(
    rb"<figure data-shows='(?P<shows>[a-z ]{1,20})'><img [^>]{0,2000}src='data:image/png;base64,(?P<png>[A-Za-z0-9+/=]+)'"
)


def thumbnail_of(report: bytes) -> bytes | None:
    """Return a small PNG of the first accepted image of a report.html, otherwise of its first picture; None when it has no readable picture."""
    found: bytes | None = None
    for match in _PICTURE.finditer(report):
        if len(match["png"]) <= _MOST_TEXT and (found is None or match["shows"] == b"accepted"):
            found = match["png"]
        if match["shows"] == b"accepted":
            break
    if found is None:
        return None
    try:
        with Image.open(io.BytesIO(base64.b64decode(found, validate=True)), formats=("PNG",)) as picture:
            if picture.width * picture.height > _MOST_PIXELS:
                return None
            small = picture.convert("RGB")
        small.thumbnail((_SIDE, _SIDE))
        out = io.BytesIO()
        small.save(out, "PNG")
    except (OSError, ValueError, SyntaxError, binascii.Error, UnidentifiedImageError, Image.DecompressionBombError):
        return None
    return out.getvalue()


class Thumbnails:
    """Caches the pictures. A report that has changed has another key."""

    def __init__(self) -> None:
        self._known: OrderedDict[object, bytes | None] = OrderedDict()

    def __contains__(self, key: object) -> bool:
        return key in self._known

    def of(self, key: object) -> bytes | None:
        """Return the cached picture of a key."""
        return self._known[key]

    def keep(self, key: object, picture: bytes | None) -> None:
        """Store a picture, and remove the oldest when there are too many."""
        self._known[key] = picture
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
