# SPDX-License-Identifier: Apache-2.0
"""Decodes a receiver's record of an image; rings and messages have the same form (docs/reference/feedback.md). Records come from another process and
are not trusted."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.files.regular_file import json_of

VERSION = 1
MOST_DESCRIPTION_BYTES = 1 << 20
_HEAD = struct.Struct("<16Q")
_MOST_COLUMNS, _MOST_TABLES, _MOST_TABLE_COLUMNS, _MOST_ROWS = 64, 2, 16, 1 << 20
_FORMATS = {"uint32": "Q", "uint64": "Q", "int64": "q", "float64": "d"}
_DTYPES = {"uint32": "<u8", "uint64": "<u8", "int64": "<i8", "float64": "<f8"}


class FeedbackError(RashpaError, RuntimeError):
    """Reports records that cannot be received or decoded; the text gives reason and remedy."""


@dataclass(frozen=True)
class Column:
    """Describes a number that belongs to each image, or to each row of a table."""

    name: str
    type: str  # uint32, uint64, int64, float64
    unit: str
    doc: str


@dataclass(frozen=True)
class Table:
    """Describes a table with rows for each image, such as peaks."""

    name: str
    capacity: int  # most rows of an image
    columns: tuple[Column, ...]

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        return np.dtype([(column.name, _DTYPES[column.type]) for column in self.columns])


@dataclass(frozen=True)
class Description:
    """Describes the records of a buffer. `width` and `height`: those of the pipeline's output images; `images`: the number of expected images, or its
    upper limit."""

    run: int
    buffer: str
    width: int
    height: int
    stack: int
    images: int
    every: int
    phase: int
    completeness: tuple[str, ...]
    decisions: tuple[str, ...]
    veto_reasons: tuple[str, ...]
    error_reasons: tuple[str, ...]
    columns: tuple[Column, ...]
    tables: tuple[Table, ...]

    @classmethod
    def parse(cls, text: bytes) -> Description:
        """Parse a description. Raise FeedbackError when it is invalid."""
        if len(text) > MOST_DESCRIPTION_BYTES:
            raise FeedbackError(f"a description of {len(text)} bytes; {MOST_DESCRIPTION_BYTES} are the most")
        try:
            return cls._of(json_of(text))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FeedbackError(f"no description of feedback: {type(error).__name__}: {error}") from None

    @classmethod
    def _of(cls, said: Any) -> Description:
        if said["format"] != "rashpa feedback":
            raise ValueError("its format is another one")
        if said["version"] != VERSION:
            raise FeedbackError(
                f"the receiver publishes version {said['version']}, and this program reads version {VERSION}; use the same rashpa on both sides"
            )
        numbers: dict[str, Any] = {
            name: _number(said[name]) for name in ("run", "width", "height", "stack", "images", "every", "phase")
        }
        names: dict[str, Any] = {
            name: tuple(_name(one) for one in _list(said[name], 256))
            for name in ("completeness", "decisions", "veto_reasons", "error_reasons")
        }
        columns = _columns(said["columns"], _MOST_COLUMNS)
        tables = tuple(
            Table(
                _name(one["name"]), _number(one["capacity"], _MOST_ROWS), _columns(one["columns"], _MOST_TABLE_COLUMNS)
            )
            for one in _list(said["tables"], _MOST_TABLES)
        )
        return cls(buffer=_name(said["buffer"]), columns=columns, tables=tables, **numbers, **names)

    @cached_property
    def scalars(self) -> struct.Struct:
        return struct.Struct("<" + "".join(_FORMATS[column.type] for column in self.columns))


@dataclass(frozen=True, slots=True)
class Image:
    """Holds the decision on one image. Times are nanoseconds of this machine's monotonic clock; 0 means none."""

    run: int
    buffer: str
    number: int  # counts what was published, from 0
    index: int  # of the image in the buffer's time slice
    frame: int
    timestamp_ns: int  # TAI, of the detector
    flags: int
    completeness: str  # complete, partial, missing
    decision: str  # accepted, vetoed, errored; none: of a missing image
    reason: str  # of a veto or an error; none
    measured: bool  # the pipeline has looked at its pixels: its scalars count
    scalars: Mapping[str, int | float]
    tables: Mapping[str, NDArray[np.void]]  # of accepted images: rows, with the columns as fields
    last_packet_ns: int
    decided_ns: int
    published_ns: int
    received_ns: int

    @property
    def peaks(self) -> NDArray[np.void]:
        """Return the rows of the pipeline's first table. Raise KeyError when it has no table."""
        for rows in self.tables.values():
            return rows
        raise KeyError("the pipeline makes no table; a peak finder does")

    @property
    def latency_s(self) -> float:
        """Return the seconds from the last byte of the image to the arrival of the decision here. They are valid only on the receiver's machine."""
        return (self.received_ns - self.last_packet_ns) / 1e9


def image_of(description: Description, record: bytes, received_ns: int) -> Image:
    """Decode a record. Raise FeedbackError when it does not fit the description."""
    scalars = description.scalars
    if len(record) < _HEAD.size + scalars.size:
        raise FeedbackError(f"a record of {len(record)} bytes is too short for {len(description.columns)} numbers")
    words = _HEAD.unpack_from(record)
    sequence, index, frame, timestamp_ns, fate, last_packet_ns, decided_ns, published_ns = words[:8]
    if sequence < 2 or sequence % 2:
        raise FeedbackError(f"record {sequence} is not a whole one")
    tables: dict[str, NDArray[np.void]] = {}
    at = _HEAD.size + scalars.size
    for number, table in enumerate(description.tables):
        rows = words[9 + 2 * number]
        if rows > table.capacity or rows * table.dtype.itemsize > len(record) - at:
            raise FeedbackError(f"{rows} rows of table {table.name} are not in a record of {len(record)} bytes")
        tables[table.name] = np.frombuffer(record, table.dtype, rows, at)
        at += rows * table.dtype.itemsize
    if at != len(record):
        raise FeedbackError(f"a record of {len(record)} bytes holds {at} bytes of numbers and rows")
    decision = _of(description.decisions, fate >> 40 & 0xFF, "decision")
    veto = _of(description.veto_reasons, fate >> 48 & 0xFF, "reason of a veto")
    error = _of(description.error_reasons, fate >> 56, "reason of an error")
    names = (column.name for column in description.columns)
    return Image(
        run=description.run,
        buffer=description.buffer,
        number=sequence // 2 - 1,
        index=index,
        frame=frame,
        timestamp_ns=timestamp_ns,
        flags=fate & 0xFFFFFFFF,
        completeness=_of(description.completeness, fate >> 32 & 0xFF, "completeness"),
        decision=decision,
        reason=error if decision == "errored" else veto,
        measured=words[12] == 1,
        scalars=dict(zip(names, scalars.unpack_from(record, _HEAD.size), strict=True)),
        tables=tables,
        last_packet_ns=last_packet_ns,
        decided_ns=decided_ns,
        published_ns=published_ns,
        received_ns=received_ns,
    )


def _of(names: tuple[str, ...], number: int, what: str) -> str:
    if number >= len(names):
        raise FeedbackError(f"{what} {number} is none of {', '.join(names)}")
    return names[number]


def _number(value: Any, most: int = 2**64 - 1) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{value!r} is no number up to {most}")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no name")
    return value


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"it is no list of at most {most} entries")
    return value


def _columns(value: Any, most: int) -> tuple[Column, ...]:
    columns = tuple(
        Column(_name(one["name"]), _name(one["type"]), _name(one["unit"]), _name(one["doc"]))
        for one in _list(value, most)
    )
    if len({column.name for column in columns} - {""}) < len(columns):
        raise ValueError("two columns have one name, or one has none")
    for column in columns:
        if column.type not in _FORMATS:
            raise ValueError(f"column {column.name} is of type {column.type}, not {', '.join(_FORMATS)}")
    return columns
