# SPDX-License-Identifier: Apache-2.0
"""The run files in the tutorials pass the check of `rashpa run --check`."""

import json
import re
import subprocess
import sys
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


NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_every_cell_of_a_notebook_runs(notebook: Path) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    command = [sys.executable, str(ROOT / "tools" / "run_notebooks.py"), "--check", str(notebook)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_a_notebook_is_stored_with_its_pictures(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    drawing = [cell for cell in cells if cell["cell_type"] == "code" and "plt.show()" in "".join(cell["source"])]
    assert drawing
    for cell in drawing:
        assert any("image/png" in output.get("data", {}) for output in cell["outputs"]), "run tools/run_notebooks.py"
