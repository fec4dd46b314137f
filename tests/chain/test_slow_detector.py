# SPDX-License-Identifier: Apache-2.0
"""Tests a detector whose stacks take longer than the deadline: no image is late or lost."""

from pathlib import Path

import pytest

from rashpa.testing.run_file import Table, run_file
from rashpa.testing.typed_run import good_run

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")


def run_text(link: Table) -> str:
    return run_file(
        run={"name": "slow", "frames": 12, "output": "."},
        detector={"rate_hz": 4.0},
        link=link,
        buffer={"bands": 2, "slots": 24, "stack": 8, "deadline_ms": 200},
    )


@pytest.mark.parametrize("link", [{"flow": "paced"}, {}, {"kind": "pcie"}])
def test_a_stack_that_takes_longer_than_the_deadline_is_whole(tmp_path: Path, link: Table) -> None:
    _, report = good_run(run_text(link=link), tmp_path)
    books = report["books"]
    assert books["complete"] == books["expected"] == 12
