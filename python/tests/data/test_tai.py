# SPDX-License-Identifier: Apache-2.0
"""The conversion between TAI and UTC: leap seconds, the ends of the table, and the same numbers as native code."""

from datetime import UTC, date, datetime
from itertools import pairwise

import pytest

from rashpa.data.base.tai import (
    LeapTableError,
    leap_caution,
    leap_table,
    leap_table_of,
    tai_of_date,
    tai_of_utc,
    utc_of_tai,
)

SECOND = 10**9
KNOWN = [  # UTC, TAI − UTC in seconds: IERS Bulletin C
    ("1972-01-01T00:00:00Z", 10),
    ("1972-06-30T23:59:59Z", 10),
    ("1972-07-01T00:00:00Z", 11),
    ("1998-12-31T23:59:59Z", 31),
    ("1999-01-01T00:00:00Z", 32),
    ("2005-12-31T23:59:59Z", 32),
    ("2012-07-01T00:00:00Z", 35),
    ("2016-12-31T23:59:59Z", 36),
    ("2017-01-01T00:00:00Z", 37),
    ("2026-01-31T11:00:01Z", 37),
]


@pytest.mark.parametrize(("when", "ahead"), KNOWN)
def test_tai_is_ahead_as_the_bulletins_say(when: str, ahead: int) -> None:
    utc = round(datetime.fromisoformat(when).timestamp()) * SECOND
    assert tai_of_utc(utc) == utc + ahead * SECOND
    assert tai_of_date(datetime.fromisoformat(when)) == utc + ahead * SECOND
    assert utc_of_tai(utc + ahead * SECOND) == utc


def test_every_second_comes_back_around_every_leap_second() -> None:
    for at in leap_table().from_ns:
        for utc in (at - SECOND, at - 1, at, at + 1, at + SECOND):
            assert utc_of_tai(tai_of_utc(utc)) == utc


def test_utc_stands_while_a_leap_second_goes_on_and_never_goes_back() -> None:
    midnight = 1_483_228_800 * SECOND  # 2017-01-01
    last = tai_of_utc(midnight - 1)
    assert [utc_of_tai(last + after) for after in (0, 1, SECOND // 2, SECOND)] == [midnight - 1] * 4
    assert utc_of_tai(last + SECOND + 1) == midnight
    seen = [utc_of_tai(last + step * SECOND // 8) for step in range(-16, 32)]
    assert all(a <= b for a, b in pairwise(seen))


def test_numbers_go_on_where_the_table_ends_and_it_is_said() -> None:
    assert tai_of_utc(0) == 10 * SECOND
    assert utc_of_tai(5) == 0
    late = round(datetime(2100, 1, 1, tzinfo=UTC).timestamp()) * SECOND
    assert tai_of_utc(late) == late + 37 * SECOND
    assert utc_of_tai(late + 37 * SECOND) == late
    until = leap_table().valid_until
    assert leap_caution(date(2026, 1, 1)) == ""
    assert f"known until {until}" in leap_caution(until)
    assert "install a newer rashpa" in leap_caution(date(2100, 1, 1))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "valid_until 2026-01-01\n",
        "1972-01-01 10\n",
        "valid_until 2026-01-01\n1972-13-01 10\n",
        "valid_until 2026-01-01\n1972-01-01 ten\n",
        "valid_until 2026-01-01\n1973-01-01 12\n1972-01-01 10\n",
    ],
)
def test_a_damaged_table_is_refused(text: str) -> None:
    with pytest.raises(LeapTableError, match=r"leap_seconds\.txt"):
        leap_table_of(text)
