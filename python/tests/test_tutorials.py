# SPDX-License-Identifier: Apache-2.0
"""The run files in the tutorials pass the check of `rashpa run --check`."""

import re
from pathlib import Path

import pytest

from rashpa.control.run_plan import load_plan

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: str(path.stem))
def test_the_run_file_of_a_tutorial_can_be_planned_at_every_step(tutorial: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```toml\n(.+?)```", tutorial.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    file = tmp_path / "first.toml"
    for step in range(len(blocks)):
        file.write_text("\n".join(blocks[: step + 1]), encoding="utf-8")
        plan = load_plan(file)
        assert plan.buffers[0].images == plan.file.run.frames
