# SPDX-License-Identifier: Apache-2.0
"""Converts between TAI and UTC, with the same table as native code (schema/leap_seconds.txt). No other Python code converts them.

Both count nanoseconds since 1970-01-01, without leap seconds of their own. Before 1972 the first offset of the table holds, after its end the last
one.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache

from rashpa.data.base.packaged import packaged_file
from rashpa.data.base.rashpa_error import RashpaError

_SECOND = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LeapTableError(RashpaError, ValueError):
    """Reports a damaged table; the text names the faulty line."""


@dataclass(frozen=True)
class LeapTable:
    """Holds leap seconds: from `from_ns` (UTC) on, TAI is ahead of UTC by `ahead_ns`. After `valid_until`, later leap seconds are unknown."""

    from_ns: tuple[int, ...]
    ahead_ns: tuple[int, ...]
    valid_until: date


def leap_table_of(text: str) -> LeapTable:
    """Parse a table. Raise LeapTableError when a line is neither a day and a number, nor `valid_until` and a day."""
    steps: list[tuple[int, int]] = []
    until: date | None = None
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        first, _, second = line.partition(" ")
        try:
            if first == "valid_until":
                until = date.fromisoformat(second)
            else:
                day = datetime.combine(date.fromisoformat(first), datetime.min.time(), UTC)
                steps.append((_since_epoch(day), int(second) * _SECOND))
        except ValueError:
            raise LeapTableError(f"leap_seconds.txt: {line!r}: no line of the table; reinstall rashpa") from None
    if until is None or not steps or steps != sorted(set(steps)):
        raise LeapTableError("leap_seconds.txt: the table is not whole, or not in order; reinstall rashpa")
    return LeapTable(tuple(step[0] for step in steps), tuple(step[1] for step in steps), until)


@cache
def leap_table() -> LeapTable:
    """Return the table of the package."""
    return leap_table_of(packaged_file("schema", "leap_seconds.txt").read_text(encoding="utf-8"))


def tai_of_utc(utc_ns: int) -> int:
    """Convert nanoseconds since 1970 from UTC to TAI."""
    table = leap_table()
    return utc_ns + table.ahead_ns[max(0, bisect_right(table.from_ns, utc_ns) - 1)]


def utc_of_tai(tai_ns: int) -> int:
    """Convert nanoseconds since 1970 from TAI to UTC. During a leap second, UTC stays at the last nanosecond of its minute."""
    table = leap_table()
    begins = [at + ahead for at, ahead in zip(table.from_ns, table.ahead_ns, strict=True)]
    behind = bisect_right(begins, tai_ns)
    utc = max(0, tai_ns - table.ahead_ns[max(0, behind - 1)])
    return utc if behind == len(begins) else min(utc, table.from_ns[behind] - 1)


def tai_of_date(when: datetime) -> int:
    """Convert a date with a time zone to nanoseconds since 1970 TAI."""
    return tai_of_utc(_since_epoch(when))


def leap_caution(today: date | None = None) -> str:
    """Return a warning that the table has expired; empty while it is valid."""
    until = leap_table().valid_until
    if (today or datetime.now(UTC).date()) < until:
        return ""
    return (
        f"leap seconds are known until {until}: UTC is made from TAI as it was then; if there was one since, times are a second early or late; "
        "install a newer rashpa"
    )


def _since_epoch(when: datetime) -> int:
    return (when - _EPOCH) // timedelta(microseconds=1) * 1000
