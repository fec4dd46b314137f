# SPDX-License-Identifier: Apache-2.0
"""The times at which the manager asks its nodes again."""

from pathlib import Path

import pytest

from rashpa.control.run.looks import next_look_s, shortest_run_s
from rashpa.control.runfile.run_file_reader import run_file_of

MOST_S = 0.25


@pytest.mark.parametrize(
    ("after_due", "wait"),
    [
        pytest.param(-100.0, MOST_S, id="long before nobody looks more often"),
        pytest.param(-0.1, 0.1, id="the next look is when they may be through"),
        pytest.param(0.0, 0.01, id="then soon"),
        pytest.param(0.02, 0.01, id="and soon again"),
        pytest.param(0.2, 0.1, id="who is late may take half as long again"),
        pytest.param(60.0, MOST_S, id="and is looked at as all others at last"),
    ],
)
def test_waits_between_looks(after_due: float, wait: float) -> None:
    assert next_look_s(1000.0 + after_due, 1000.0, MOST_S) == pytest.approx(wait)


def test_a_small_run_is_seen_to_end_before_it_has_taken_half_as_long_again() -> None:
    for length in (0.02, 0.1, 0.3):
        now = 0.0
        while now < length:
            now += next_look_s(now, 0.0, MOST_S)
        assert now <= max(1.5 * length, length + 0.01)


@pytest.mark.parametrize(
    ("run", "detector", "seconds"),
    [
        pytest.param({"frames": 200}, {"rate_hz": 100.0}, 1.99, id="the first frame is sent at once"),
        pytest.param({"frames": 1}, {"rate_hz": 0.001}, 0.0, id="one frame takes no time"),
        pytest.param({"frames": 200}, {}, 0.0, id="as fast as flow allows"),
        pytest.param({"frames": 200}, {"rate_hz": 100.0, "trigger": "software"}, 0.0, id="nobody knows the triggers"),
    ],
)
def test_a_rate_says_how_long_a_run_takes(
    run: dict[str, object], detector: dict[str, object], seconds: float, tmp_path: Path
) -> None:
    tables = {
        "run": {"name": "one", "output": str(tmp_path), **run},
        "detector": {"width": 8, "height": 8, "module": [{"x": 0, "y": 0}], **detector},
        "dataset": {"kind": "pattern", "width": 8, "height": 8, "modules": 1, "frames": 1},
        "buffer": [{"name": "full", "slots": 10, "stack": 5, "sink": [{"kind": "null"}]}],
    }
    file, _ = run_file_of(tables)
    assert shortest_run_s(file) == pytest.approx(seconds)
