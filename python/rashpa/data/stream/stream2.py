# SPDX-License-Identifier: Apache-2.0
"""Decodes messages of DECTRIS Stream V2 (docs/reference/stream2.md) from any sender. They are not trusted: sizes are checked before memory is
allocated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.base.tai import tai_of_date
from rashpa.data.files.bounded_cbor import CborError, loads_cbor

MOST_PIXELS = 1 << 27
MOST_MESSAGE_BYTES = 1 << 30
MOST_CHANNELS = 16
_ARRAY, _COMPRESSED = 40, 56500
_DTYPES = {
    64: "u1", 65: ">u2", 66: ">u4", 67: ">u8", 68: "u1", 69: "<u2", 70: "<u4", 71: "<u8", 72: "i1", 73: ">i2", 74: ">i4", 75: ">i8",
    77: "<i2", 78: "<i4", 79: "<i8", 81: ">f4", 82: ">f8", 85: "<f4", 86: "<f8",
}  # fmt: skip
_HEADER = 12  # of compressed bytes: 8 of their size when they are not, 4 of that of a block


class StreamError(RashpaError, ValueError):
    """Reports a message that cannot be read; the text names the part and the reason."""


@dataclass(frozen=True)
class PackedArray:
    """Holds a two-dimensional array as it is in a message. `algorithm`: bslz4, lz4, or empty."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    algorithm: str
    element_bytes: int
    data: bytes

    @property
    def size(self) -> int:
        """Return the size of the decompressed array in bytes."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def unpack(self) -> NDArray[Any]:
        """Return the array [row][column], in the byte order of this machine. Raise StreamError when the bytes are damaged."""
        plain: NDArray[Any] = (
            self._decompressed().view(self.dtype) if self.algorithm else np.frombuffer(self.data, self.dtype)
        )
        return plain.reshape(self.shape).astype(self.dtype.newbyteorder("="), copy=False)

    def _decompressed(self) -> NDArray[np.uint8]:
        from rashpa import _native

        decompress = (
            _native.BitshuffleLz4(self.element_bytes).decompress
            if self.algorithm == "bslz4"
            else _native.decompress_lz4
        )
        room = np.empty(self.size, np.uint8)
        if not decompress(np.frombuffer(self.data, np.uint8), room):
            raise StreamError(f"the {self.algorithm} bytes are damaged")
        return room


@dataclass(frozen=True)
class Message:
    """Holds the common fields of all messages. `unique_id`: empty when there is none."""

    series_id: int
    unique_id: str
    user_data: Mapping[str, Any]

    def is_of(self, series: tuple[int, str]) -> bool:
        """Return True when the message belongs to this series; without a unique id, only the number is compared."""
        return self.series_id == series[0] and (self.unique_id == series[1] or not self.unique_id or not series[1])

    @property
    def series(self) -> tuple[int, str]:
        """Return the key that identifies the series."""
        return self.series_id, self.unique_id


@dataclass(frozen=True)
class Start(Message):
    """Begins a series. `fields`: all fields of the message. `images`: the number of expected images, or its upper limit; None when unknown."""

    images: int | None
    channels: tuple[str, ...]
    fields: Mapping[str, Any] = field(repr=False)

    def number(self, name: str) -> float:
        """Return the number in the field, 0 when it is missing or not finite."""
        found = _number(self.fields.get(name))
        return 0.0 if found is None else found

    def has_number(self, name: str) -> bool:
        """Return True when the field has a finite number."""
        return _number(self.fields.get(name)) is not None

    def check_size(self, channel: str, pixels: NDArray[Any]) -> None:
        """Raise StreamError when images of a channel do not have the announced size."""
        height, width = pixels.shape
        for name, side in (("image_size_x", width), ("image_size_y", height)):
            said = self.fields.get(name)
            if isinstance(said, int) and not isinstance(said, bool) and said != side:
                raise StreamError(
                    f"channel {channel}: its images have {width} × {height} pixels, and the start message says {name} = {said}; ask the sender for a new series"
                )

    def text(self, name: str) -> str:
        """Return the printable text of at most 1024 characters in the field, empty when it has no text."""
        return text_of(self.fields.get(name))

    def mask(self, channel: str) -> NDArray[np.uint32] | None:
        """Return the mask of a channel, None without one. Raise StreamError when it cannot be read, or when numbers would lose bits."""
        found = self._array("pixel_mask", channel)
        if found is None:
            return None
        if found.dtype.kind not in "iu" or (found.size and (found.min() < 0 or found.max() > 0xFFFFFFFF)):
            raise StreamError(f"pixel_mask: {found.dtype.name}, with numbers that 32 bits do not hold")
        return found.astype(np.uint32, copy=False)

    def flatfield(self, channel: str) -> NDArray[np.float32] | None:
        """Return the flat field of a channel, None without one. Raise StreamError when it cannot be read."""
        found = self._array("flatfield", channel)
        return None if found is None else found.astype(np.float32, copy=False)

    def of_channel(self, name: str, channel: str) -> float | None:
        """Return the finite number of a channel, or of the only channel; None when there is none."""
        said = self.fields.get(name)
        return _number(said.get(channel) if isinstance(said, Mapping) else said)

    def table(self, name: str) -> NDArray[Any] | None:
        """Return a one-dimensional array of numbers, None when it is missing or cannot be read."""
        value = self.fields.get(name)
        try:
            return None if value is None else packed_table(name, value).unpack()[0]
        except StreamError:
            return None

    def _array(self, name: str, channel: str) -> NDArray[Any] | None:
        """Return the array of a channel. When the series has one channel and the array has another name, return that array."""
        arrays = self.fields.get(name)
        if arrays is None:
            return None
        if not isinstance(arrays, Mapping):
            raise StreamError(f"{name}: no map of channels")
        named = {text_of(one, 64): packed for one, packed in arrays.items()}
        packed = named.get(channel)
        if packed is None and len(named) == 1 and len(self.channels) == 1:
            packed = next(iter(named.values()))
        return None if packed is None else packed_array(name, packed).unpack()


@dataclass(frozen=True)
class Image(Message):
    """Holds an image. `image_id` counts from 0; `data`: arrays by channel; `began_ns`: the start of its exposure, TAI in ns since 1970, 0 when
    unknown."""

    image_id: int
    data: Mapping[str, PackedArray] = field(repr=False)
    began_ns: int = 0
    further: tuple[str, ...] = ()
    """What it says besides, by name: of nothing of this the interface, or docs/reference/stream2.md, says what it means."""


@dataclass(frozen=True)
class End(Message):
    """Ends a series."""


@dataclass(frozen=True)
class Other(Message):
    """Holds a message of a type that the interface does not define, as some senders have."""

    type: str


def _number(value: object) -> float | None:
    """Return the number, None when `value` is no finite number."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        found = float(value) if good else math.nan  # type: ignore[arg-type]
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def text_of(value: object, most: int = 1024) -> str:
    """Return the printable characters of a text, at most `most`."""
    return "".join(letter for letter in value[:most] if letter.isprintable()) if isinstance(value, str) else ""


def read_message(data: bytes | memoryview) -> Start | Image | End | Other:
    """Decode a message. Raise StreamError when it is none of this interface, or exceeds a limit."""
    if bytes(data[:1]) == b"{" or b"dheader-1" in bytes(data[:64]):
        raise StreamError(
            "a message of Stream V1 (JSON); set the detector's stream interface to version 2, whose messages are CBOR, or take it by a run (link.kind stream2)"
        )
    try:
        found = loads_cbor(data)
    except CborError as error:
        raise StreamError(f"no CBOR: {error}") from None
    if not isinstance(found, Mapping) or not isinstance(found.get("type"), str):
        raise StreamError("no map with a type: this is no Stream V2")
    user = found.get("user_data")
    common: tuple[int, str, Mapping[str, Any]] = (
        _count(found, "series_id"),
        text_of(found.get("series_unique_id")),
        user if isinstance(user, Mapping) else {},
    )
    if found["type"] == "start":
        due = found.get("number_of_images")
        images = due if isinstance(due, int) and not isinstance(due, bool) and 0 <= due < 1 << 64 else None
        return Start(*common, images, _channels(found.get("channels")), found)
    if found["type"] == "image":
        return Image(
            *common, _count(found, "image_id"), _data(found.get("data")), _began_ns(found), _further(found, common[2])
        )
    if found["type"] == "end":
        return End(*common)
    return Other(*common, text_of(found["type"], 32))


_OF_IMAGES = {
    "type",
    "series_id",
    "series_unique_id",
    "image_id",
    "real_time",
    "series_date",
    "start_time",
    "stop_time",
    "user_data",
    "data",
}
_OF_USERS = {
    "frame_number",
    "index",
    "completeness",
    "flags",
    "timestamp_ns",
    "lost_runs",
    "lost",
    "vetoed_before",
    "errored_before",
}
_MOST_FURTHER = 16


def _further(found: Mapping[str, Any], user: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of unknown fields, including the names of a pipeline's numbers."""
    names = [str(name) for name in found if name not in _OF_IMAGES]
    for name, value in user.items():
        if isinstance(value, Mapping):
            names += [f"user_data.{name}.{one}" for one in value]
        elif name not in _OF_USERS:
            names.append(f"user_data.{name}")
    return tuple(sorted(text_of(name, 64) for name in names[:_MOST_FURTHER]))


def _count(found: Mapping[str, Any], name: str) -> int:
    value = found.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise StreamError(f"{found['type'][:32]!r} message: {name} is {str(value)[:40]!r}, and should be a count")
    return value


def _began_ns(found: Mapping[str, Any]) -> int:
    """Return the image's start, from the date of the series' first image and the time since then, TAI in ns since 1970; 0 when unknown."""
    since = found.get("start_time")
    date = date_of(found.get("series_date"))
    if date is None or not isinstance(since, list | tuple) or len(since) != 2:
        return 0
    if not all(isinstance(part, int) and 0 <= part < 1 << 64 for part in since):
        return 0
    ns = tai_of_date(date) + since[0] * 1_000_000_000 // max(1, since[1])
    return ns if 0 <= ns < 1 << 64 else 0


def date_of(value: object) -> datetime | None:
    """Return a date in UTC, None when `value` is no date. A date without a time zone counts as UTC."""
    try:
        date = value if isinstance(value, datetime) else datetime.fromisoformat(text_of(value))
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _channels(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > MOST_CHANNELS:
        return ()
    return tuple(text_of(one, 64) for one in value)


def _data(value: object) -> dict[str, PackedArray]:
    if not isinstance(value, Mapping) or not 0 < len(value) <= MOST_CHANNELS:
        raise StreamError(f"'image' message: data is no map of 1 … {MOST_CHANNELS} channels")
    return {text_of(name, 64): packed_array(f"channel {text_of(name, 64)}", one) for name, one in value.items()}


def packed_table(what: str, value: object) -> PackedArray:
    """Return a typed array as one row of numbers, still compressed. Raise StreamError."""
    import cbor2

    typed = value.value if isinstance(value, cbor2.CBORTag) else None
    packed = isinstance(typed, cbor2.CBORTag) and typed.tag == _COMPRESSED and _is_list(typed.value, 3)
    data = typed.value[2] if isinstance(typed, cbor2.CBORTag) and packed else typed
    if not isinstance(value, cbor2.CBORTag) or value.tag not in _DTYPES or not isinstance(data, bytes):
        raise StreamError(f"{what}: no array of numbers")
    size = int.from_bytes(data[:8], "big") if packed else len(data)
    count = size // np.dtype(_DTYPES[value.tag]).itemsize
    return packed_array(what, cbor2.CBORTag(_ARRAY, [[1, count], value]))


def packed_array(what: str, value: object) -> PackedArray:
    """Return a two-dimensional array of tag 40, still compressed. Raise StreamError."""
    if isinstance(value, PackedArray):  # of another version, and checked there
        return value
    import cbor2

    def refuse(why: str) -> StreamError:
        return StreamError(f"{what}: {why}")

    if not isinstance(value, cbor2.CBORTag) or value.tag != _ARRAY or not _is_list(value.value, 2):
        raise refuse("no array of two dimensions (tag 40)")
    sides, typed = value.value
    if not _is_list(sides, 2) or not all(isinstance(side, int) and side > 0 for side in sides):
        raise refuse("its sides are no two counts")
    if sides[0] * sides[1] > MOST_PIXELS:
        raise refuse(f"{sides[0]} × {sides[1]} pixels, {MOST_PIXELS} at most")
    if not isinstance(typed, cbor2.CBORTag) or typed.tag not in _DTYPES:
        raise refuse(f"its numbers are of tag {getattr(typed, 'tag', 'none')}, which is not read")
    dtype = np.dtype(_DTYPES[typed.tag])
    algorithm, element, data = "", dtype.itemsize, typed.value
    if isinstance(data, cbor2.CBORTag) and data.tag == _COMPRESSED and _is_list(data.value, 3):
        algorithm, element, data = data.value
        if algorithm not in ("bslz4", "lz4"):
            raise refuse(f"packed with {text_of(str(algorithm), 32)!r}; bslz4, lz4 and plain bytes are read")
        if algorithm == "bslz4" and element not in (1, 2, 4, 8):
            raise refuse(f"bslz4 with elements of {str(element)[:32]} bytes")
    if not isinstance(data, bytes):
        raise refuse("no bytes in it")
    array = PackedArray((sides[0], sides[1]), dtype, algorithm, element, data)
    said = int.from_bytes(data[:8], "big") if algorithm else len(data)
    if said != array.size or (algorithm and len(data) < _HEADER):
        raise refuse(f"{said} bytes for {sides[0]} × {sides[1]} pixels of {dtype.name}, {array.size} are due")
    return array


def _is_list(value: object, length: int) -> bool:
    return isinstance(value, list | tuple) and len(value) == length
