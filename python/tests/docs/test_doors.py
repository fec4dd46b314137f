# SPDX-License-Identifier: Apache-2.0
"""The table of network services: all columns are filled, and the test of each row exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "doors.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")][2:]
DOORS = ("packets", "shared memory", "control link", "page", "ring", "files", "locks", "services")


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_each_door_has_its_bound_and_a_test_that_is_there(row: list[str]) -> None:
    assert len(row) == 5
    assert all(row)
    tests = re.findall(r"`([^`]+)`", row[4])
    assert tests
    for name in tests:
        assert (ROOT / name.partition("::")[0]).is_file(), name


@pytest.mark.parametrize("door", DOORS)
def test_no_door_is_forgotten(door: str) -> None:
    assert any(door in row[0] for row in ROWS)
