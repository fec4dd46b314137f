# SPDX-License-Identifier: Apache-2.0
import pytest

from rashpa.control.nodes.pace import Pace, clock_of


def test_a_pace_is_that_of_the_last_seconds() -> None:
    pace = Pace()
    assert pace.left_s(100) is None
    for second in range(20):
        pace.look(float(second), 10 * second, 1000 * second)
    assert pace.images_per_s == pytest.approx(10)
    assert pace.span_s == 4.0
    assert pace.bytes_per_s == pytest.approx(1000)
    assert pace.left_s(290) == pytest.approx(10)
    for second in range(20, 40):
        pace.look(float(second), 190, 19000)
    assert pace.images_per_s == 0
    assert pace.left_s(290) is None


def test_what_is_asked_twice_within_one_look_of_the_node_makes_no_rate() -> None:
    pace = Pace()
    pace.look(1.0, 100, 0)
    pace.look(1.0, 114, 0)  # the clock stands: a division by it, or by anybody else's, would say 1,400 images/s
    assert pace.images_per_s == 0
    pace.look(1.2, 120, 0)
    assert pace.images_per_s == pytest.approx(100)


def test_a_clock_that_goes_back_begins_anew() -> None:
    pace = Pace()
    pace.look(50.0, 5000, 0)
    pace.look(51.0, 5100, 0)
    pace.look(0.5, 50, 0)
    assert pace.images_per_s == 0
    pace.look(1.5, 150, 0)
    assert pace.images_per_s == pytest.approx(100)


@pytest.mark.parametrize(("seconds", "text"), [(0.0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3725, "1:02:05")])
def test_time_is_as_a_clock_shows_it(seconds: float, text: str) -> None:
    assert clock_of(seconds) == text
