# SPDX-License-Identifier: Apache-2.0
"""Tests a detector whose stacks take longer than the deadline: no image is late or lost."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.chain.test_nodes import COMMAND

from rashpa.testing.run_file import Table, run_file

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
    (tmp_path / "run.toml").write_text(run_text(link=link))
    command = [*COMMAND, "run", "run.toml", "-q", "--output", "report", "--no-page"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    books = json.loads((tmp_path / "report" / "report.json").read_text())["books"]
    assert books["complete"] == books["expected"] == 12
