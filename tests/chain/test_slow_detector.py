# SPDX-License-Identifier: Apache-2.0
"""A detector whose stacks take longer than the deadline: nothing is late, and nothing is lost."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.chain.test_nodes import COMMAND

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

RUN = """\
[run]
name = "slow"
frames = 12
output = "."
[detector]
width = 64
height = 32
rate_hz = 4.0
[dataset]
kind = "pattern"
width = 64
height = 32
[receiver]
port = 0
[link]
{link}
[[buffer]]
name = "full"
bands = 2
slots = 24
stack = 8
deadline_ms = 200
[[buffer.sink]]
kind = "null"
"""


@pytest.mark.parametrize("link", ['flow = "paced"', "", 'kind = "pcie"'])
def test_a_stack_that_takes_longer_than_the_deadline_is_whole(tmp_path: Path, link: str) -> None:
    (tmp_path / "run.toml").write_text(RUN.format(link=link))
    command = [*COMMAND, "run", "run.toml", "-q", "--output", "report", "--no-page"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    books = json.loads((tmp_path / "report" / "report.json").read_text())["books"]
    assert books["complete"] == books["expected"] == 12
