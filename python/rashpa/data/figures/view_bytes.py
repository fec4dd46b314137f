# SPDX-License-Identifier: Apache-2.0
"""Encodes a view of an image for the transfer from a node to a viewer, also in a browser: facts, and arrays that need no decoding.

The bytes are `RVW1`, the length of the JSON in four bytes, the JSON in UTF-8, and the arrays. JSON and arrays are padded to a multiple of 8 bytes,
the JSON with spaces. `arrays` of the JSON has name, NumPy type, shape and first byte, counted from the end of the JSON, of each array. All numbers
are little-endian.
"""

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.regular_file import json_of

ABSENT = ("", "masked", "saturated", "lost", "not written")
"""The reasons why a pixel has no value, by their number in a view; 0: it has one."""
MAGIC = b"RVW1"
MEDIA_TYPE = "application/vnd.rashpa.view"
_ALIGNED = 8
_HEAD = 8
_TYPES = {name: np.dtype(name).newbyteorder("<") for name in ("uint8", "uint16", "int16", "float32", "float64")}
_MOST_SIDES = 2


def bytes_of_view(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a view as bytes. `facts`: any JSON object without the key `arrays`."""
    parts, said, at = [], {}, 0
    for name, array in arrays.items():
        kind = array.dtype.name
        part = np.ascontiguousarray(array, _TYPES[kind]).tobytes()
        said[name] = {"type": kind, "shape": array.shape, "at": at}
        parts += [part, bytes(-len(part) % _ALIGNED)]
        at += len(part) + len(parts[-1])
    text = json.dumps({**facts, "arrays": said}, separators=(",", ":")).encode()
    text += b" " * (-(_HEAD + len(text)) % _ALIGNED)
    return b"".join((MAGIC, struct.pack("<I", len(text)), text, *parts))


def view_of_bytes(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the facts and the arrays of a view; the arrays are read-only. Raise ValueError when the bytes are no view."""
    if len(content) < _HEAD or not content.startswith(MAGIC):
        raise ValueError("it does not begin as a view")
    body = _HEAD + struct.unpack_from("<I", content, 4)[0]
    facts = json_of(content[_HEAD:body])
    if body > len(content) or not isinstance(facts, dict) or not isinstance(facts.get("arrays"), dict):
        raise ValueError("its facts are cut off, or none")
    try:
        return facts, {name: _array(content, body, **said) for name, said in facts["arrays"].items()}
    except (KeyError, TypeError) as error:
        raise ValueError(f"its arrays are not described: {error}") from None


def _array(content: bytes, body: int, type: str, shape: list[int], at: int) -> NDArray[Any]:  # noqa: A002  as JSON says it
    whole = all(isinstance(number, int) and number >= 0 for number in (at, *shape))
    if not whole or not 0 < len(shape) <= _MOST_SIDES:
        raise ValueError(f"an array of shape {shape} at {at} is none")
    count, kind = math.prod(shape), _TYPES[type]
    if body + at + count * kind.itemsize > len(content):
        raise ValueError("an array is cut off")
    return np.frombuffer(content, kind, count, body + at).reshape(shape)
