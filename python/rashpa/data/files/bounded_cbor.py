# SPDX-License-Identifier: Apache-2.0
"""Decodes foreign CBOR. Its structure is checked before the library reads it, so that the size of the message limits the size of the result."""

from __future__ import annotations

from typing import Any

from rashpa.data.base.rashpa_error import RashpaError

MOST_DEPTH = 24
MOST_ITEMS = 100_000
_INDEFINITE = 31
_BREAK = 0xFF
# Tags that libraries expand: numbers of any size, references between items, patterns, messages, addresses.
_REFUSED_TAGS = frozenset({2, 3, 4, 5, 25, 28, 29, 30, 35, 36, 256, 258, 260, 261, 264, 265, 43000})
_BYTES, _MAP, _TAG, _SIMPLE = 2, 5, 6, 7
_MAGIC = b"\xd9\xd9\xf7"  # tag 55799: CBOR follows


class CborError(RashpaError, ValueError):
    """Reports bytes that are no CBOR, or of a kind that is not read here; the text names fault and place."""


def check_cbor(data: bytes | memoryview) -> None:
    """Raise CborError unless the bytes are one item, with at most MOST_ITEMS nested items, MOST_DEPTH deep, and without tags that could expand."""
    end = _Walk(memoryview(data)).item_end()
    if end != len(data):
        raise CborError(f"{len(data) - end} bytes behind the end of the item")


def item_place(data: memoryview) -> tuple[int, int]:
    """Return begin and end of the first item; for a byte string, those of its content. Return the whole range when the bytes do not begin with an
    item."""
    walk = _Walk(memoryview(data))
    try:
        end = walk.item_end()
    except CborError:
        return 0, len(data)
    finally:
        walk.release()
    if data[0] >> 5 != _BYTES or data[0] & 31 == _INDEFINITE:
        return 0, end
    short = data[0] & 31
    return 1 if short < 24 else 1 + (1 << (short - 24)), end


def loads_cbor(data: bytes | memoryview) -> Any:
    """Decode the bytes; tags without a Python type become cbor2.CBORTag. Raise CborError."""
    import cbor2

    check_cbor(data)
    plain = bytes(data)
    try:
        # libraries make what is inside a tag immutable, and so of other types
        return cbor2.loads(plain.removeprefix(_MAGIC))
    except (cbor2.CBORDecodeError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise CborError(str(error)) from None


class _Walk:
    """Walks through the heads of all items, and skips the content of strings."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0
        self._items = 0

    def release(self) -> None:
        self._data.release()

    def item_end(self) -> int:
        # how many items each open array, map or tag still has; -1: up to a break
        left = [1]
        while left:
            if left[-1] == 0:
                left.pop()
                continue
            if left[-1] < 0 and self._peek() == _BREAK:
                self._at += 1
                left.pop()
                continue
            if left[-1] > 0:
                left[-1] -= 1
            inside = self._head()
            if inside:
                left.append(inside)
                if len(left) > MOST_DEPTH:
                    raise CborError(f"more than {MOST_DEPTH} items inside each other, at byte {self._at}")
        return self._at

    def _peek(self) -> int:
        if self._at >= len(self._data):
            raise CborError(f"it ends at byte {self._at}, inside an item")
        return self._data[self._at]

    def _head(self) -> int:
        """Read one head, skip the content of a string, and return the number of items inside."""
        self._items += 1
        if self._items > MOST_ITEMS:
            raise CborError(f"more than {MOST_ITEMS} items")
        first = self._peek()
        self._at += 1
        major, short = first >> 5, first & 31
        if short == _INDEFINITE:
            if major in (0, 1, _TAG, _SIMPLE):
                raise CborError(f"byte {self._at - 1}: {first:#x} begins no item")
            return -1
        value = self._value(short)
        if major in (2, 3):
            if value > len(self._data) - self._at:
                raise CborError(
                    f"a string of {value} bytes at byte {self._at}, and {len(self._data) - self._at} are there"
                )
            self._at += value
            return 0
        if major == _TAG and value in _REFUSED_TAGS:
            raise CborError(f"tag {value} at byte {self._at} is not read")
        if major == _TAG:
            return 1
        inside = value * (2 if major == _MAP else 1) if major in (4, _MAP) else 0
        if inside > len(self._data) - self._at:
            raise CborError(f"{inside} items at byte {self._at}, and {len(self._data) - self._at} bytes are there")
        return inside

    def _value(self, short: int) -> int:
        if short < 24:
            return short
        if short > 27:
            raise CborError(f"byte {self._at - 1}: a head of no known form")
        size = 1 << (short - 24)
        if self._at + size > len(self._data):
            raise CborError(f"it ends at byte {len(self._data)}, inside a number")
        value = int.from_bytes(self._data[self._at : self._at + size], "big")
        self._at += size
        return value
